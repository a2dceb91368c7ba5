"""SIGKILL at random moments.

No finished run is lost, no number changes, no process stays.
"""

import json
import multiprocessing
import os
import platform
import random
import signal
import time

import psutil
import pytest
from conftest import made
from texts import wait_for

from mocose_study.data.atomic import sweep
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.runs import pool
from mocose_study.runs import run as runs
from mocose_study.runs.files import read_run, run_file, run_ids

fork = multiprocessing.get_context("fork")  # what is imported is there already


def started(function, *arguments):
    """A process that calls the function."""
    job = fork.Process(target=function, args=arguments)
    job.start()
    return job


def make_all(configs) -> None:
    """Makes the runs with a checkpoint after every step."""
    Checkpoint.due = lambda _: True
    for config in configs:
        made(config, "kills")


SIZES = [(3, 6, 2), pytest.param(50, 60, 12, marks=pytest.mark.slow)]


@pytest.mark.parametrize("kills, steps, seeds", SIZES)
def test_kills_lose_no_run_and_change_no_number(small, study, kills, steps, seeds):
    sizes = {"steps": steps, "eval_every": steps // 2}
    configs = [small(seed=seed, **sizes) for seed in range(seeds)]
    began = time.monotonic()
    unbroken = {run_ids([c])[0]: read_run(made(c, "whole")) for c in configs}
    span, rng = time.monotonic() - began, random.Random(0)
    folder, finished = study / "data" / "runs" / "kills", {}
    for attempt in range(kills + 1):
        job = started(make_all, configs)
        if attempt < kills:
            job.join(rng.random() * span / 2)
            job.kill()
        job.join()
        for path, content in finished.items():
            assert path.read_bytes() == content, "a finished run was lost or changed"
        finished = {path: path.read_bytes() for path in folder.glob("*.json")}
        assert all(map(read_run, finished))
    assert job.exitcode == 0
    sweep(study / "data")
    left = [*folder.iterdir(), *(study / "data" / "checkpoints").iterdir()]
    assert sorted(p.name for p in left) == sorted(f"{name}.json" for name in unbroken)
    for name, before in unbroken.items():
        killed = read_run(folder / f"{name}.json")
        assert killed["metrics"] == before["metrics"], "a kill changed a number"
        assert killed["progress"]["history"] == before["progress"]["history"]


def test_a_kill_right_after_the_run_file_leaves_no_checkpoint(small, study):
    config = small(method="untrained")
    checkpoint = runs.checkpoint_of(made(config).stem)
    for again in (made, lambda config: runs.run_grid([config], "quick")):
        checkpoint.write({"step": 1})
        again(config)
        assert not checkpoint.path.exists()


# --- two grids ---
def grid_with_diary(configs, diary) -> None:
    """A grid that writes down which runs it makes itself."""
    real = runs.measured

    def measured(config, *rest):
        with diary.open("a") as file:
            file.write(json.dumps([os.getpid(), config.seed]) + "\n")
        time.sleep(0.3)
        return real(config, *rest)

    runs.measured = measured
    runs.run_grid(configs, "quick", workers=0)


def test_two_grids_at_once_share_the_work(small, study):
    configs = [small(method="untrained", seed=seed) for seed in range(4)]
    runs.prepare(configs)
    jobs = [started(grid_with_diary, configs, study / "diary") for _ in range(2)]
    for job in jobs:
        job.join()
    diary = [json.loads(line) for line in (study / "diary").read_text().splitlines()]
    assert [job.exitcode for job in jobs] == [0, 0]
    assert all(run_file(config, "quick").exists() for config in configs)
    once = sorted(seed for _, seed in diary) == list(range(4))
    assert once, "a run was made twice, or not"
    assert len({process for process, _ in diary}) == 2, "one grid did everything"


# --- workers ---
def answer(job):
    if job == "kill me":
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * job


def test_a_killed_worker_takes_only_its_own_job_with_it(monkeypatch):
    monkeypatch.setattr(pool.multiprocessing, "get_context", lambda kind: fork)
    told = pool.outcomes(answer, [(1,), ("kill me",), (2,)], 1)
    found = {job: (result, error) for (job,), result, error in told}
    assert found[1] == (2, None) and found[2] == (4, None)
    result, error = found["kill me"]
    killed = "its process was killed (exit code -9); the same command goes on from here"
    assert result is None and str(error) == killed


def test_a_worker_ends_with_the_process_that_started_it():
    """Else every kill would leave processes that go on computing, or wait for ever."""
    told, tell = fork.Pipe()

    def worker():
        pool.start_worker()
        tell.send(os.getpid())
        time.sleep(600)

    def parent():
        started(worker)
        time.sleep(600)

    job = started(parent)
    assert told.poll(30)
    process = psutil.Process(told.recv())
    job.kill()
    job.join()
    gone = psutil.STATUS_ZOMBIE
    wait_for(lambda: not process.is_running() or process.status() == gone)


# --- what killed processes leave behind ---
def test_what_killed_processes_wrote_is_swept_and_what_others_write_stays(study):
    gone = started(int)
    gone.join()
    folder = study / "data" / "runs" / "quick"
    folder.mkdir(parents=True)
    here = platform.node()
    dead, other = (f".{name}.{here}.{gone.pid}" for name in ("a.json", "c.json"))
    kept = {f".a.json.{here}.{os.getppid()}", f".a.json.elsewhere.{gone.pid}", "b.json"}
    for name in (dead, other, *kept):
        (folder / name).write_text("half")
    sweep(folder, "a.json")
    assert {path.name for path in folder.iterdir()} == kept | {other}
    sweep(study / "data")
    assert {path.name for path in folder.iterdir()} == kept
