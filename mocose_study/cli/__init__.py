"""The command line: `mocose COMMAND`; `mocose --help` lists the commands.

Help and errors come at once, since commands import what they need when they run.
"""

import logging
import os
import signal
import sys
from dataclasses import dataclass
from importlib.metadata import version

try:
    import tyro

    from .commands import KINDS
except KeyboardInterrupt:
    sys.stderr.write("mocose: interrupted before anything began\n")
    sys.exit(130)


@dataclass
class Run:
    """One run: trains and measures a system, and prints its scores."""


COMMANDS = {kind.__name__.lower(): kind for kind in (Run, *KINDS)}
QUIET = "httpx httpcore huggingface_hub filelock datasets fsspec matplotlib".split()


def parsed(arguments: list[str]):
    """The command that `arguments` name, with its options; ends where there is none."""
    if arguments[:1] == ["run"]:
        from .run import parsed_run

        return parsed_run(arguments[1:])
    if arguments == ["--version"]:
        sys.exit(print(version("mocose-lib")))
    options = {"args": arguments or ["--help"], "sort_subcommands": False}
    return tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="mocose", **options)


def main() -> None:
    """Exit codes: 0 done; 2 bad input, said in one sentence; 130 interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: in one line
    try:
        sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  # closed: `>&-`
        command = parsed(sys.argv[1:])
        if (folder := getattr(command, "data", None)) is not None:
            os.environ["MOCOSE_DATA"] = folder or "(no name)"
        for name in ("MOCOSE_DATA", "MOCOSE_STUDY"):  # notebooks run in another folder
            if path := os.environ.get(name):
                os.environ[name] = os.path.abspath(path)
        quieten()
        if hasattr(command, "data"):
            from mocose_study.data import sources

            sources.folder()  # a folder that is none is said before anything begins
        command.main()
        # here, where it is known what to say of a closed pipe
        return sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output, as `head` does, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        said, code = "interrupted; the same command goes on from what is done", 130
    except Exception as wrong:
        said, code = sentence(wrong), 2
        if said is None:
            raise
    sys.stderr.write(f"mocose: {said}\n")
    sys.exit(code)


def quieten() -> None:
    """Libraries say what is wrong, and show no bars beside ours."""
    from transformers.utils.logging import disable_progress_bar

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for noisy in QUIET:
        logging.getLogger(noisy).setLevel(logging.ERROR)
    logging.getLogger("mocose_lib").setLevel(logging.WARNING)  # the bar has its numbers
    disable_progress_bar()


def sentence(wrong: Exception) -> str | None:
    """What to say of an error; None where nobody foresaw it."""
    from mocose_lib.settings import InputError

    if isinstance(wrong, InputError | FloatingPointError):  # the latter: it diverged
        return str(wrong)
    if isinstance(wrong, OSError):  # a full disk, a folder without write permission
        return f"{wrong.strerror or wrong}: {wrong.filename or 'while writing'}"
    if isinstance(wrong, RuntimeError) and "allocate" in str(wrong):
        return "the memory is full; a smaller batch_size or queue_size needs less"
    return None
