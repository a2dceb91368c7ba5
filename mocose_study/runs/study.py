"""`make study`: Snakemake behind a lock, and nothing left of it once it is killed.

PROFILE, DATA and CORES come from the environment, so that no shell reads them; what is on the
command line goes to Snakemake. Snakemake leads a process group: all that it starts ends with it.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mocose_study.config import PROFILES, InputError, choose

LOCK = Path("data/cache/study.lock")
ENGINE = (sys.executable, "-m", "snakemake", "--snakefile", "Snakefile")


def main() -> int:
    """Exit codes: Snakemake's; 2 bad input, said in one sentence; 130 interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        profile = os.environ["PROFILE"]
        choose(PROFILES, profile, "profile")
        if data := os.environ.get("DATA"):
            if not Path(data).is_dir():
                raise InputError(f"DATA = {data!r} is no folder; give the folder with the data.")
            os.environ["MOCOSE_DATA"] = str(Path(data).resolve())
        LOCK.parent.mkdir(parents=True, exist_ok=True)
        with LOCK.open("w") as lock:
            _wait_for(lock)
            return _study(profile, lock)
    except InputError as wrong:
        sys.stderr.write(f"make study: {wrong}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("make study: interrupted; the same command goes on from here\n")
        return 130


def _wait_for(lock) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another `make study` is at work in this folder; waiting for it to end", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)


def _study(profile: str, lock) -> int:
    """Snakemake holds the lock, too: a study that lost its launcher is not alone until it ends."""
    engine = (*ENGINE, "--config", f"profile={profile}", "--cores", os.environ.get("CORES") or "1")
    if any(Path(".snakemake/locks").glob("*")):  # of a killed one: we have the lock
        subprocess.run((*engine, "--unlock", "--quiet", "all"), check=True)
    how = ("--rerun-incomplete", "--keep-going", "--quiet", "rules")
    parent = os.getppid()
    job = subprocess.Popen(
        (*engine, *how, *sys.argv[1:]),
        start_new_session=True,
        pass_fds=[lock.fileno()],
        env={**os.environ, "MOCOSE_LAUNCHED": "1"},
    )
    try:
        while job.poll() is None and os.getppid() == parent:
            time.sleep(0.2)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)  # everything is made to go on after that
    return job.wait()


if __name__ == "__main__":
    sys.exit(main())
