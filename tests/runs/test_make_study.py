"""`make study`: one at a time, nothing left of a killed one, any folder's name, no text executed.

The Makefile is the repository's; Snakemake runs a workflow of one job that sleeps.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from texts import ROOT, wait_for

from mocose_study.runs.files import run_file, write_run
from mocose_study.runs.plan import Plan
from mocose_study.runs.study import surroundings
from mocose_study.sections import GRIDS

WORKFLOW = """
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
        [
            "make",
            "-f",
            ROOT / "Makefile",
            "-o",
            ".venv/installed",
            "study",
            "CORES=1",
            *words,
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # these tests may themselves be started by make
        env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
        # a shell has its background jobs, and all that they start, ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def at_work(folder) -> list[psutil.Process]:
    """The processes of the study: those whose working directory is its folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if (
                Path(process.cwd()) == folder
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process)
        except psutil.Error:
            continue
    return found


def named(folder, word: str) -> psutil.Process | None:
    found = (p for p in at_work(folder) if word in " ".join(p.cmdline()))
    return next(found, None)


def clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def check_executed(folder: Path) -> None:
    executed = sorted(path.name for path in folder.glob("data/executed/smoke/*.ipynb"))
    assert executed == sorted(path.name for path in folder.glob("notebooks/*.ipynb"))


@pytest.mark.slow
def test_a_killed_study_leaves_nothing_and_goes_on_beside_no_other(folder):
    for victim in ("make", "study", "all"):
        job = start(folder, PROFILE="smoke")
        wait_for((folder / "started").exists)
        if victim == "all":
            for process in at_work(folder):
                process.kill()
        else:
            (job if victim == "make" else named(folder, "spawn_main")).kill()
        job.communicate()
        wait_for(lambda: not at_work(folder), 60)
        (folder / "started").unlink()
    first = start(folder, PROFILE="smoke", DATA="meine Daten ü")
    wait_for(
        (folder / "started").exists
    )  # the lock of the killed ones did not hold it up
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
                for process in (
                    found if rng.random() < 0.5 else rng.sample(found, bool(found))
                ):
                    with suppress(psutil.Error):
                        process.kill()
                if (
                    attempt % 2
                ):  # else what was not killed goes on, and the next one waits for it
                    job.kill()
            told, _ = job.communicate(timeout=900) if attempt == kills else ("", None)
        assert job.returncode == 0, told
        span = time.monotonic() - begun
        runs = {
            p.name: json.loads(p.read_text())
            for p in folder.glob("data/runs/smoke/*.json")
        }
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


@pytest.mark.parametrize("begun", ["spawn_main", "started"])
def test_ctrl_c_ends_in_one_line(folder, begun):
    job = start(folder, PROFILE="smoke")
    wait_for(lambda: (folder / begun).exists() or named(folder, begun))
    named(folder, "mocose_study.runs.study").send_signal(signal.SIGINT)
    told = job.communicate(timeout=300)[0].splitlines()
    told = [line for line in told if not line.startswith(("make", "Assuming"))] + told[
        -2:-1
    ]
    assert told[-1].startswith("make study: interrupted; what is done is kept")
    assert not [line for line in told if "Traceback" in line] and not at_work(folder)


def test_a_study_killed_while_it_starts_leaves_nothing(folder):
    job = start(folder, PROFILE="smoke")
    wait_for(lambda: named(folder, "spawn_main"))
    named(folder, "mocose_study.runs.study").kill()
    job.communicate()
    wait_for(lambda: not at_work(folder), 60)
    assert not (folder / "started").exists()


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        (
            {"PROFILE": "quick; touch x"},
            "there is no profile 'quick; touch x'; choose one of",
        ),
        ({"PROFILE": '$(touch x)" && touch "y'}, "there is no profile"),
        (
            {"PROFILE": "smoke", "DATA": "no; touch x"},
            "DATA = 'no; touch x' is no folder",
        ),
        (
            {"PROFILE": "smoke", "NOTEBOOKS": "4; touch x"},
            "there is no notebook '4;'",
        ),
    ],
)
def test_text_of_a_variable_is_a_sentence_and_never_a_command(folder, variables, told):
    before = sorted(os.listdir(folder))
    job = start(folder, **variables)
    said, _ = job.communicate()
    assert told in said and "Traceback" not in said and job.returncode == 2
    assert sorted(os.listdir(folder)) == before


# --- what there is to make ---
BOOK = """
from pathlib import Path
folder = Path("figures", profile)
folder.mkdir(parents=True, exist_ok=True)
(folder / "04_ema.csv").write_text("0.85")
"""
RUNS = sorted(
    {c for g in GRIDS.values() if g.notebook == "04_ema" for c in g.configs("smoke")},
    key=str,
)


@pytest.fixture
def small(folder, monkeypatch):
    """A checkout of one section, whose runs are there and whose notebook draws a figure."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MOCOSE_STUDY", str(folder))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (folder / "Snakefile").write_text((ROOT / "Snakefile").read_text())
    (folder / "notebooks").mkdir()
    parameters = new_code_cell("profile = 1", metadata={"tags": ["parameters"]})
    kernel = {"name": "python3", "language": "python", "display_name": "Python"}
    cells = [parameters, new_code_cell(BOOK)]
    book = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    for name in ("04_ema", "12$(touch x);", "11 copy (1)"):
        nbformat.write(book, folder / "notebooks" / f"{name}.ipynb")
    for run in RUNS:
        write_run(run_file(run, "smoke"), {"config": asdict(run), "seconds": 7200.0})
    return folder


def change(path: Path) -> None:
    path.write_text(path.read_text().replace("0", "1"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


HARMS = {
    "data/runs/smoke/*.json": (Path.unlink, change, cut, Path.touch),
    "data/executed/smoke/04_ema.ipynb": (Path.unlink, change, cut),
    "figures/smoke/04_ema.csv": (Path.unlink, change, cut),
    "figures/smoke": (shutil.rmtree,),
    "notebooks/04_ema.ipynb": (change,),
}


def test_what_is_missing_changed_or_old_is_made_again_and_nothing_else(small):
    """In a home that is none, and beside another kernel of the same name."""
    kernel = small / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(
        '{"argv": ["false"], "display_name": "another"}'
    )
    variables = {
        "HOME": "/dev/null/home",
        "JUPYTER_PATH": small / "jupyter",
        "PROFILE": "smoke",
    }
    first = start(small, **variables)
    said, _ = first.communicate()
    assert first.returncode == 0, said
    assert f"0 of {len(RUNS)} runs to make; 1 of 1 notebooks to execute" in said
    assert said.count("is left out, since it is no section's notebook") == 2
    assert not (small / "x").exists()
    plan = Plan("smoke", ["04_ema"])
    for pattern, harms in HARMS.items():
        for harm in harms:
            plan.read()
            assert plan.forget() == []
            copy = Path(shutil.copytree(small, small.parent / "copy", symlinks=True))
            time.sleep(0.01)
            harm(next(small.glob(pattern)))
            plan.read()
            assert plan.forget() == ["04_ema"], (pattern, harm)
            shutil.rmtree(small)
            copy.rename(small)
            os.chdir(small)
    next(small.glob("data/runs/smoke/*.json")).unlink()
    shutil.rmtree(small / "figures")
    plan.read()
    assert "1 of 1 notebooks" in plan.told(plan.forget(), "4")
    assert plan.told([], "4").startswith(
        f"profile smoke: 1 of {len(RUNS)} runs to make, about 0.5 hours by the times of"
    )
    again = start(small, **variables)
    said, _ = again.communicate()
    assert again.returncode == 0, said
    assert len(list(small.glob("data/runs/smoke/*.json"))) == len(RUNS)
    assert (small / "figures/smoke/04_ema.csv").read_text() == "0.85"
    begun, third = os.times(), start(small, **variables)
    said, _ = third.communicate()
    assert third.returncode == 0 and "0 of 1 notebooks to execute" in said
    ended = os.times()  # of the processor, since others may work beside a test
    took = ended.children_user + ended.children_system
    assert took - begun.children_user - begun.children_system < 15


def test_what_a_study_lacks_is_one_sentence_before_anything_starts(small):
    before = sorted(small.rglob("*"))
    job = start(small, PROFILE="base", NOTEBOOKS="04", HOME="/dev/null/home")
    told = job.communicate()[0].splitlines()
    (said,) = [line for line in told if "profile base" in line]
    assert job.returncode == 2 and sorted(small.rglob("*")) == before
    assert (
        "lacks benchmark real, encoder bert-base-uncased, corpus wiki1m; of the" in said
    )


def test_a_study_needs_no_name_of_its_user():
    assert surroundings({"PATH": ""})["USER"]
    assert surroundings({"PATH": "", "USER": "me"})["USER"] == "me"


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
