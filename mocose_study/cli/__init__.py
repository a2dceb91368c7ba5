"""The command line: `mocose COMMAND`; `mocose --help` lists the commands."""

import contextlib
import io
import logging
import os
import re
import signal
import sys
from itertools import dropwhile, takewhile
from pathlib import Path

try:  # these take seconds
    import tyro
    from transformers.utils.logging import disable_progress_bar

    from mocose_study.config import Config, InputError, choose
    from mocose_study.config.profiles import fields_of

    from . import single, study
except KeyboardInterrupt:
    sys.stderr.write("mocose: interrupted before anything began\n")
    sys.exit(130)

KINDS = (single.Run, study.Grid, study.Results, study.Pretrain, study.Report)
KINDS += (study.Bench, study.Claims, single.Evaluate, single.Embed)
KINDS += (single.Sections, single.Systems, single.Profiles)
COMMANDS = {kind.__name__.lower(): kind for kind in KINDS}
QUIET = ("httpx", "httpcore", "huggingface_hub", "filelock", "datasets", "fsspec")


def parsed(arguments: list[str]):
    """The command that `arguments` name, with its options.

    Raises InputError, one sentence, on anything that cannot be read. Help ends the process.
    """
    arguments = arguments or ["--help"]
    command, *options = arguments
    if not command.startswith("-"):
        choose(COMMANDS, command, "command")
    panel = io.StringIO()
    try:
        with contextlib.redirect_stderr(panel):
            if command == "run":
                default = _defaults(options)
                return tyro.cli(
                    single.Run, args=options, default=default, prog="mocose run"
                )
            return tyro.extras.subcommand_cli_from_dict(
                COMMANDS, prog="mocose", args=arguments
            )
    except SystemExit as stop:
        if stop.code:
            raise InputError(_sentence(panel.getvalue())) from None
        raise


def _defaults(options: list[str]) -> single.Run:
    """What `mocose run` does where no option says otherwise: profile, preset, method decide."""
    chosen = {"profile": "quick", "preset": "study", "method": "mocose"}
    chosen |= {"corpus": "", "corpus-size": ""}
    for option, value in zip(options, [*options[1:], ""], strict=False):
        name, _, given = option.removeprefix("--").partition("=")
        if option.startswith("--") and name in chosen:
            chosen[name] = given or value
    asked = dict(profile=chosen["profile"], preset=chosen["preset"])
    values = vars(Config()) | fields_of(**asked, method=chosen["method"])
    # a text of one's own is taken whole
    if not chosen["corpus-size"] and Path(chosen["corpus"]).is_file():
        from mocose_study.data.corpora import text_lines

        values["corpus_size"] = sum(map(bool, text_lines([Path(chosen["corpus"])])))
    config = object.__new__(
        Config
    )  # unchecked: an option may still mend a contradiction
    vars(config).update(values)
    return single.Run(**asked, config=config)


def _sentence(panel: str) -> str:
    """What a panel of tyro says is wrong, without title, frame, colours and the help below."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", panel)
    _title, *lines = plain.splitlines() or [""]
    rows = dropwhile(_is_rule, (line.strip("│ ") for line in lines))
    said = " ".join(takewhile(lambda row: not _is_rule(row), rows)).partition(
        " Got errors"
    )[0]
    near = re.search(r"Perhaps you meant:\W+(--[\w-]+)", plain)
    unknown = said.startswith("Unrecognized options: --")
    hint = "; --help lists those there are." if unknown else "."
    return said.rstrip(". ") + (f"; did you mean {near[1]}?" if near else hint)


def _is_rule(row: str) -> bool:
    return not row.strip("─-")


def main() -> None:
    """Exit codes: 0 done; 2 bad input, said in one sentence; 130 interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for noisy in QUIET:
        logging.getLogger(noisy).setLevel(logging.ERROR)
    disable_progress_bar()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: in one line
    command = None
    try:
        command = parsed(sys.argv[1:])
        if folder := getattr(command, "data", None):
            os.environ["MOCOSE_DATA"] = folder
        command.main()
        return (
            sys.stdout.flush()
        )  # here, where it is known what to say if nobody reads it
    except (InputError, FloatingPointError) as wrong:  # the latter: a training diverged
        said, code = str(wrong), 2
    except BrokenPipeError:  # whoever read the output, as `head` does, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as wrong:  # a full disk, a folder without write permission
        said, code = (
            f"{wrong.strerror or wrong}: {wrong.filename or 'while writing'}",
            2,
        )
    except RuntimeError as wrong:  # no room on a GPU, or in the machine
        if "allocate" not in str(wrong):
            raise
        said, code = (
            "the memory is full; a smaller batch_size or queue_size needs less",
            2,
        )
    except KeyboardInterrupt:
        then = getattr(command, "INTERRUPTED", "the same command goes on from here")
        said, code = f"interrupted; {then}", 130
    sys.stderr.write(f"mocose: {said}\n")
    sys.exit(code)
