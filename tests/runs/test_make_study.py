"""`make study`: one at a time, nothing left of a killed one, any folder's name, no text executed.

The Makefile is the repository's; Snakemake runs a workflow of one job that sleeps.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from texts import ROOT, wait_for

from mocose_study.sections import GRIDS

WORKFLOW = """
import os, signal
from pathlib import Path
from mocose_study.runs.pool import end_with_parent

end_with_parent(lambda: os.killpg(0, signal.SIGKILL))

rule work:
    output: "done"
    shell: "touch started; while [ ! -e go ]; do sleep 0.1; done; echo $MOCOSE_DATA > {output}"
"""


LOOPBACK = """
import fcntl, os, socket, struct, sys
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS: up
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path):
    """A checkout whose path has a space and letters beyond ASCII."""
    place = tmp_path / "mein Ordner für Sätze"
    (place / "meine Daten ü").mkdir(parents=True)
    (place / "Snakefile").write_text(WORKFLOW)
    (place / ".venv").symlink_to(ROOT / ".venv")
    if not (ROOT / ".venv" / "bin" / "python").exists():
        pytest.skip("make works with .venv, which is not here")
    return place


def start(folder, **variables):
    """make study, without looking whether .venv is up to date."""
    words = [f"{name}={value}" for name, value in variables.items()]
    return subprocess.Popen(
        ["make", "-f", ROOT / "Makefile", "-o", ".venv/installed", "study", "CORES=1", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # a shell has its background jobs, and all that they start, ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def at_work(folder) -> list[psutil.Process]:
    """The processes of the study: those whose working directory is its folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()) == folder and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def snakemake(folder) -> psutil.Process:
    return next(p for p in at_work(folder) if "snakemake" in p.cmdline())


def clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def check_executed(folder: Path) -> None:
    executed = sorted(path.name for path in folder.glob("data/executed/smoke/*.ipynb"))
    assert executed == sorted(path.name for path in folder.glob("notebooks/*.ipynb"))


@pytest.mark.slow
def test_a_killed_study_leaves_nothing_and_goes_on_beside_no_other(folder):
    for victim in ("make", "snakemake", "all"):
        job = start(folder, PROFILE="smoke")
        wait_for((folder / "started").exists)
        if victim == "all":
            for process in at_work(folder):
                process.kill()
        else:
            (job if victim == "make" else snakemake(folder)).send_signal(signal.SIGKILL)
        job.communicate()
        wait_for(lambda: not at_work(folder), 60)
        (folder / "started").unlink()
    first = start(folder, PROFILE="smoke", DATA="meine Daten ü")
    wait_for((folder / "started").exists)  # the lock of the killed ones did not hold it up
    second = start(folder, PROFILE="smoke")
    assert "at work in this folder; waiting for it to end" in second.stdout.readline()
    (folder / "go").touch()
    assert first.wait(900) == 0 and second.wait(900) == 0
    assert (folder / "done").read_text().strip() == str(folder / "meine Daten ü")


@pytest.mark.slow
def test_ten_kills_of_the_real_study_change_no_number(tmp_path):
    """Runs and notebooks of the profile smoke, one process or all of them killed at random."""
    rng, numbers, span = random.Random(0), {}, None
    for name, kills in (("whole", 0), ("killed", 10)):
        folder = clone(tmp_path / name)
        begun = time.monotonic()
        for attempt in range(kills + 1):
            job = start(folder, PROFILE="smoke", MOCOSE_STUDY=folder, PYTHONPATH=folder)
            if attempt < kills:
                time.sleep(rng.random() * span / 3)
                found = at_work(folder)
                for process in found if rng.random() < 0.5 else rng.sample(found, bool(found)):
                    with suppress(psutil.Error):
                        process.kill()
                if attempt % 2:  # else what was not killed goes on, and the next one waits for it
                    job.kill()
            told, _ = job.communicate(timeout=900) if attempt == kills else ("", None)
        assert job.returncode == 0, told
        span = time.monotonic() - begun
        runs = {p.name: json.loads(p.read_text()) for p in folder.glob("data/runs/smoke/*.json")}
        numbers[name] = {run: content["metrics"] for run, content in runs.items()}
        check_executed(folder)
        wait_for(lambda folder=folder: not at_work(folder), 60)
    assert numbers["whole"] and numbers["killed"] == numbers["whole"]


@pytest.mark.slow
def test_the_study_needs_no_network(tmp_path):
    """In a network of its own that has nothing but the loopback, which Jupyter's kernels need."""
    alone = ["unshare", "--net", "--map-root-user", sys.executable, "-c", LOOPBACK]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let a test have a network of its own")
    folder = clone(tmp_path / "study")
    make = ["make", "-o", ".venv/installed", "study", "PROFILE=smoke", "CORES=2"]
    here = [f"MOCOSE_STUDY={folder}", f"PYTHONPATH={folder}"]
    subprocess.run([*alone, *make, *here], cwd=folder, check=True)
    check_executed(folder)


def test_ctrl_c_ends_in_one_line(folder):
    job = start(folder, PROFILE="smoke")
    wait_for((folder / "started").exists)
    launcher = next(p for p in at_work(folder) if "mocose_study.runs.study" in p.cmdline())
    launcher.send_signal(signal.SIGINT)
    told, _ = job.communicate(timeout=300)
    assert "make study: interrupted; the same command goes on from here" in told
    assert "Traceback" not in told and not at_work(folder)


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"PROFILE": "quick; touch x"}, "there is no profile 'quick; touch x'; choose one of"),
        ({"PROFILE": '$(touch x)" && touch "y'}, "there is no profile"),
        ({"PROFILE": "smoke", "DATA": "no; touch x"}, "DATA = 'no; touch x' is no folder"),
    ],
)
def test_text_of_a_variable_is_a_sentence_and_never_a_command(folder, variables, told):
    before = sorted(os.listdir(folder))
    job = start(folder, **variables)
    said, _ = job.communicate()
    assert told in said and "Traceback" not in said and job.returncode == 2
    assert sorted(os.listdir(folder)) == before


# --- the jobs that it would start: as large as the runs of a profile are short ---
def commands(profile, *flags):
    """The `mocose grid` commands of a dry run from nothing."""
    dry = "--dry-run --nolock --forceall --printshellcmds --cores 8 --config".split()
    command = [sys.executable, "-m", "snakemake", *dry, f"profile={profile}", *flags]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    lines = (found.stdout + found.stderr).splitlines()
    return sorted(filter(None, (line.partition("mocose grid ")[2] for line in lines)))


def test_runs_of_a_minute_are_a_job_a_section_on_the_cores_it_is_given():
    expected = sorted(f"{name} --profile tiny --workers 2" for name in GRIDS)
    assert commands("tiny", "--set-threads", "runs=2") == expected


def test_runs_that_want_a_gpu_are_a_job_a_section_and_seed():
    expected = [
        f"{name} --profile base --seeds {seed}"
        for name, grid in GRIDS.items()
        for seed in {config.seed for config in grid.configs("base")}
    ]
    assert commands("base") == sorted(expected)
