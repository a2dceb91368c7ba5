"""`make study`: a process that makes the study, and nothing left of it after a kill.

PROFILE, NOTEBOOKS, DATA and CORES come from the environment, so that no shell reads
them; what is on the command line goes to Snakemake. This process imports nothing that
takes time, so that Ctrl-C is one line at any moment.
"""

import multiprocessing
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


def main() -> int:
    """Exit codes: Snakemake's; 2 bad input, said in one sentence; 130 interrupted."""
    make = int(os.environ.get("MOCOSE_MAKE", os.getppid()))
    os.environ |= surroundings(dict(os.environ))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # and so does what is started here
    job = multiprocessing.get_context("spawn").Process(target=study)
    job.start()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while job.is_alive() and os.getppid() == make:
            job.join(0.2)
    except KeyboardInterrupt:
        told = "what is done is kept, and the same command makes the rest"
        sys.stderr.write(f"make study: interrupted; {told}\n")
        return 130
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)  # everything is made to go on after that
        job.kill()
    return job.exitcode or 0


def study() -> None:
    """Leads a process group: all that it starts ends with it, and with `main`."""
    os.setsid()
    from mocose_study.runs import plan, pool

    pool.end_with_parent(lambda: os.killpg(0, signal.SIGKILL))
    sys.exit(plan.make(sys.argv[1:]))


def surroundings(given: dict[str, str]) -> dict[str, str]:
    """What makes the study need no home, no user name, and no Python but its own."""
    own = Path("data/cache/home").resolve()
    caches = given.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return {
        "USER": "study",
        "HF_HOME": str(Path(caches, "huggingface")),  # stays where the user has it
        **given,
        "XDG_CACHE_HOME": str(own),
        "IPYTHONDIR": str(own / "ipython"),
        "MPLCONFIGDIR": str(own / "matplotlib"),
        "JUPYTER_RUNTIME_DIR": str(own / "jupyter"),
        "JUPYTER_PATH": "",  # else its kernels come first
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), given["PATH"])),
    }


if __name__ == "__main__":
    sys.exit(main())
