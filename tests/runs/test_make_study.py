"""`make study`: what it makes again, nothing left of a killed one, no text executed."""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import nbformat
import psutil
import pytest
from conftest import link_shipped
from filelock import FileLock
from made_up import write
from nbformat.v4 import new_code_cell, new_notebook
from texts import ROOT, wait_for

from mocose_lib import InputError
from mocose_study.config import configure
from mocose_study.fast import processor
from mocose_study.runs import progress
from mocose_study.runs import study as make
from mocose_study.sections import SECTIONS
from mocose_study.systems import SYSTEMS

LOOPBACK = """
import fcntl, os, socket, struct, sys
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS: up
os.execvp(sys.argv[1], sys.argv[1:])
"""
BOOK = """
from pathlib import Path
import time
folder = Path("figures", profile)
folder.mkdir(parents=True, exist_ok=True)
(folder / "04_ema.csv").write_text("0.85")
Path("started").touch()
while Path("stop").exists():
    time.sleep(0.1)
"""
RUNS = make.configs_of("04_ema", "smoke")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A checkout of one section in a folder with an odd name, whose runs are there."""
    place = link_shipped(tmp_path / "mein Ordner für Sätze")
    monkeypatch.chdir(place)
    monkeypatch.setenv("MOCOSE_STUDY", str(place))
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    for name in ("IPYTHONDIR", "MPLCONFIGDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_PATH"):
        monkeypatch.setenv(name, str(place / "none"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    (place / "notebooks").mkdir()
    (place / ".venv").symlink_to(ROOT / ".venv")
    parameters = new_code_cell("profile = 1", metadata={"tags": ["parameters"]})
    kernel = {"name": "python3", "language": "python", "display_name": "Python"}
    cells = [parameters, new_code_cell(BOOK)]
    book = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    for name in ("04_ema", "12$(touch x);", "11 copy (1)"):
        nbformat.write(book, place / "notebooks" / f"{name}.ipynb")
    for run in RUNS:  # files that are made up
        write(run, profile="smoke")
    return place


def start(folder, **variables):
    """make study, without looking whether .venv is up to date."""
    if not (ROOT / ".venv" / "bin" / "python").exists():
        pytest.skip("make works with .venv, which is not here")
    command = ["make", "-f", ROOT / "Makefile", "-o", ".venv/installed", "study"]
    given = {"CORES": "1"} | variables
    command += [f"{name}={value}" for name, value in given.items()]
    streams = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # these tests may themselves be started by make
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    # a shell has its background jobs, and all that they start, ignore Ctrl-C
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen(command, cwd=folder, env=env, preexec_fn=heed, **streams)


def at_work(folder) -> list[psutil.Process]:
    """The processes of the study: those whose working directory is its folder."""
    there = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and Path(process.cwd()) == folder and process.pid != os.getpid():
                there.append(process)
    return there


# --- what is made again ---
def change(path: Path) -> None:
    path.write_text(path.read_text().replace("0", "1"))


HARMS = {
    "data/runs/smoke/*.json": (Path.unlink, change),
    "data/executed/smoke/04_ema.ipynb": (Path.unlink, change),
    "figures/smoke/04_ema.csv": (Path.unlink, change),
    "notebooks/04_ema.ipynb": (change,),
    "data/cache/done/smoke/04_ema.json": (Path.unlink, lambda x: x.write_text("")),
}


def test_what_is_missing_changed_or_old_is_made(folder, capsys, monkeypatch):
    """And nothing else; in a home that is none, beside another kernel of this name."""
    kernel = folder / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text('{"argv": ["false"], "display_name": "other"}')
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    monkeypatch.setenv("HOME", "/dev/null/home")
    make.study("smoke", workers=0)
    said = capsys.readouterr().out
    assert f"0 of {len(RUNS)} runs to make" in said and "04_ema: executed" in said
    assert said.count("is left out, since it is no section's notebook") == 2
    for pattern, harms in HARMS.items():
        for harm in harms:
            assert make.is_as_made("04_ema", "smoke")
            path = next(folder.glob(pattern))
            content = path.read_bytes()
            harm(path)
            assert not make.is_as_made("04_ema", "smoke"), (pattern, harm)
            path.write_bytes(content)
    with monkeypatch.context() as once:
        once.setattr(make, "execute", lambda *_, **__: pytest.fail("executed"))
        make.study("smoke", workers=0)
    next(folder.glob("data/runs/smoke/*.json")).unlink()
    shutil.rmtree(folder / "figures")
    make.study("smoke", workers=0)
    assert len(list(folder.glob("data/runs/smoke/*.json"))) == len(RUNS)
    assert (folder / "figures/smoke/04_ema.csv").read_text() == "0.85"
    assert not (folder / "x").exists()


def test_a_notebook_waits_for_runs_of_another_section_that_it_shows():
    (run, *_) = make.run_files(SECTIONS["heads"].configs("tiny"), "tiny").values()
    assert f"data/runs/tiny/{run.name}" in make.files_of("10_geometry", "tiny")


def test_a_notebook_that_fails_is_named_with_the_reason(folder):
    book = nbformat.read(folder / "notebooks" / "04_ema.ipynb", 4)
    book.cells.append(new_code_cell("1 / 0"))
    nbformat.write(book, folder / "notebooks" / "04_ema.ipynb")
    with pytest.raises(InputError, match=r"see .*04_ema.ipynb; ZeroDivisionError"):
        make.execute("04_ema", "smoke")
    assert not make.is_as_made("04_ema", "smoke")


def test_a_second_study_in_the_folder_waits(folder, capsys, monkeypatch):
    monkeypatch.setattr(make, "execute", lambda *_, **__: None)
    held = threading.Event()

    def other():
        with FileLock(folder / "data" / "cache" / "study.lock"):
            held.set()
            time.sleep(0.3)

    threading.Thread(target=other).start()
    held.wait()
    make.study("smoke", workers=0)
    assert "another study is at work in this folder" in capsys.readouterr().out


# --- what it says before anything starts ---
def test_hours_are_those_of_finished_runs_or_of_a_trial(folder, monkeypatch):
    done = {c: {"seconds": 7200.0, "config": vars(c)} for c in RUNS[1:]}
    line = make.plan("smoke", {RUNS[0]: None} | done, 1)
    assert line.startswith(f"smoke: 1 of {len(RUNS)} runs to make, 2.0 h on cpu: ")
    runs = make.configs_of("04_ema", "base")
    nothing = dict.fromkeys(runs)
    monkeypatch.setattr(make, "trial", lambda c: [{"seconds": 3600, "config": vars(c)}])
    line = make.plan("base", nothing, 8)  # one GPU, whatever
    assert f"{len(runs)} of {len(runs)} runs to make, {len(runs):.1f} h on" in line
    monkeypatch.setattr(make, "trial", lambda config: [])
    assert "hours unknown" in make.plan("base", nothing, 8)


def test_a_trial_measures_some_steps(study, monkeypatch):
    """Two seconds pass between any two of them."""
    monkeypatch.setattr(progress, "now", itertools.count(step=2).__next__)
    (record,) = make.trial(configure("smoke", steps=1_000), steps=3)
    assert record["seconds"] == 2_000 and record["config"]["steps"] == 1_000
    assert not list(study.glob("data/runs/*")) and not list(study.glob("data/check*"))


def test_what_a_study_lacks_is_one_sentence_before_it_starts(folder, monkeypatch):
    monkeypatch.setattr(processor, "instruction_sets", lambda: ["amx_bf16"])
    before = sorted(folder.rglob("*"))
    with pytest.raises(InputError, match="give the encoder 'google-bert/bert-base-unc"):
        make.study("base", "04", 0)
    assert sorted(folder.rglob("*")) == before
    with pytest.raises(InputError, match="there is no notebook '4'"):
        make.study("smoke", "4", 0)
    monkeypatch.setenv("MOCOSE_STUDY", str(folder / "data"))
    with pytest.raises(InputError, match="/data has no notebooks; call it in a check"):
        make.study("smoke", "", 0)


@pytest.mark.parametrize("profile", ["smoke", "quick"])
def test_a_small_study_needs_no_data_folder(profile):
    named = set()
    for config in (c for s in SECTIONS.values() for c in s.configs(profile)):
        fields = ("benchmark", "dev", "transfer", *SYSTEMS[config.method].reads)
        named |= {getattr(config, field) for field in fields}
    assert named <= {"open", "sample", "tiny", (), "", False}


# --- by make ---
def test_text_of_a_variable_is_never_a_command(folder):
    before = sorted(os.listdir(folder))
    cases = {
        "PROFILE": ('$(touch x)" && touch "y', "there is no profile"),
        "DATA": ("no; touch x", "is no folder; give --data"),
        "NOTEBOOKS": ("4; touch x", "there is no notebook '4;'"),
    }
    profile = {"PROFILE": "smoke"}
    jobs = [start(folder, **profile | {k: text}) for k, (text, _) in cases.items()]
    for job, (_, told) in zip(jobs, cases.values(), strict=True):
        said, _ = job.communicate()
        assert told in said and "Traceback" not in said, said
        assert job.returncode == 2
    assert sorted(os.listdir(folder)) == before


SLOW = (pytest.param(name, marks=pytest.mark.slow) for name in ("make", "study"))


@pytest.mark.parametrize("victim", ["Ctrl-C", *SLOW])
def test_nothing_is_left_of_a_study_that_is_ended(folder, victim):
    (folder / "stop").touch()
    job = start(folder, PROFILE="smoke")
    wait_for((folder / "started").exists)  # its kernel is at work
    commands = ((p, " ".join(p.cmdline())) for p in at_work(folder))
    study = next(p for p, command in commands if "mocose study" in command)
    if victim == "Ctrl-C":
        study.send_signal(signal.SIGINT)
        said = job.communicate(timeout=60)[0].splitlines()
        told = "mocose: interrupted; the same command goes on from what is done"
        assert [line for line in said if line.startswith(told)], said
        assert not [line for line in said if "Traceback" in line]
    else:
        (job if victim == "make" else study).kill()
    job.communicate()
    wait_for(lambda: not at_work(folder), 60)


# --- the real study, slow ---
def clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def check_executed(folder: Path) -> None:
    executed = sorted(path.name for path in folder.glob("data/executed/smoke/*.ipynb"))
    assert executed == sorted(path.name for path in folder.glob("notebooks/*.ipynb"))


@pytest.mark.slow
def test_ten_kills_of_the_real_study_change_no_number(tmp_path):
    """Runs and notebooks of the profile smoke, one process or all killed at random."""
    rng, numbers, span = random.Random(0), {}, None
    for name, kills in (("whole", 0), ("killed", 10)):
        folder = clone(tmp_path / name)
        begun = time.monotonic()
        for attempt in range(kills + 1):
            job = start(folder, PROFILE="smoke", MOCOSE_STUDY=folder, PYTHONPATH=folder)
            if attempt < kills:
                time.sleep(rng.random() * span / 3)
                there = at_work(folder)
                one = rng.sample(there, bool(there))
                for process in there if rng.random() < 0.5 else one:
                    with suppress(psutil.Error):
                        process.kill()
                if attempt % 2:  # else what was not killed goes on, and the next waits
                    job.kill()
            told, _ = job.communicate(timeout=900) if attempt == kills else ("", None)
        assert job.returncode == 0, told
        span = time.monotonic() - begun
        paths = folder.glob("data/runs/smoke/*.json")
        numbers[name] = {p.name: json.loads(p.read_text())["metrics"] for p in paths}
        check_executed(folder)
        wait_for(lambda folder=folder: not at_work(folder), 60)
    assert numbers["whole"] and numbers["killed"] == numbers["whole"]


@pytest.mark.slow
def test_the_study_needs_no_network(tmp_path):
    """In a network that has nothing but the loopback, which Jupyter's kernels need."""
    alone = ["unshare", "--net", "--map-root-user", sys.executable, "-c", LOOPBACK]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let a test have a network of its own")
    folder = clone(tmp_path / "study")
    command = ["make", "-o", ".venv/installed", "study", "PROFILE=smoke", "CORES=2"]
    here = [f"MOCOSE_STUDY={folder}", f"PYTHONPATH={folder}"]
    subprocess.run([*alone, *command, *here], cwd=folder, check=True)
    check_executed(folder)


# --- on a cluster ---
PROFILES = ["base", pytest.param("tiny", marks=pytest.mark.slow)]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_job_is_a_notebooks_runs_or_of_large_encoders_those_of_a_seed(profile):
    dry = "--dry-run --nolock --forceall --printshellcmds --cores 8 --set-threads"
    command = [sys.executable, "-m", "snakemake", *dry.split(), "runs=2", "--config"]
    about = [f"profile={profile}", "notebooks=04 20"]
    done = subprocess.run([*command, *about], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    jobs = sorted(filter(None, (line.partition("mocose grid ")[2] for line in lines)))
    expected = []
    for notebook in make.notebooks("04 20"):
        names = [n for n, section in SECTIONS.items() if section.notebook == notebook]
        head = f"{' '.join(names)} --profile {profile}"
        seeds = sorted({c.seed for c in make.configs_of(notebook, profile)})
        each = [f"{head} --seeds {seed}" for seed in seeds]
        expected += each if profile == "base" else [f"{head} --workers 2"]
    assert jobs == sorted(expected)
    assert sum("mocose study --profile" in line for line in lines) == 2
