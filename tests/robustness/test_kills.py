"""SIGKILL at random moments: no finished run is lost, no number changes, no process stays."""

import json
import multiprocessing
import os
import platform
import random
import signal
import time
from functools import partial

import psutil
import pytest
from conftest import made
from texts import wait_for

from mocose_lib import InputError
from mocose_study.data.atomic import sweep
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.runs import pool
from mocose_study.runs import run as runs
from mocose_study.runs.files import is_done, read_run, run_file, run_id
from mocose_study.runs.pool import outcomes, start_worker

fork = multiprocessing.get_context(
    "fork"
)  # what is imported already need not be imported again


def make_all(configs) -> None:
    """Makes the runs with a checkpoint after every step."""
    Checkpoint.due = lambda _: True
    for config in configs:
        made(config, "kills")


def check_kills(small, study, kills, steps, seeds):
    configs = [
        small(steps=steps, eval_every=steps // 2, seed=seed) for seed in range(seeds)
    ]
    started = time.monotonic()
    unbroken = {run_id(c): read_run(made(c, "whole")) for c in configs}
    span, rng = time.monotonic() - started, random.Random(0)
    folder, finished = study / "data" / "runs" / "kills", {}
    for attempt in range(kills + 1):
        job = fork.Process(target=make_all, args=(configs,))
        job.start()
        if attempt < kills:
            job.join(rng.random() * span / 2)
            job.kill()
        job.join()
        for name, content in finished.items():
            assert (folder / name).read_bytes() == content, (
                "a finished run was lost or changed"
            )
        finished = {path.name: path.read_bytes() for path in folder.glob("*.json")}
        assert all(read_run(folder / name) for name in finished)
    assert job.exitcode == 0
    sweep(study / "data")
    left = [*folder.iterdir(), *(study / "data" / "checkpoints").iterdir()]
    assert sorted(p.name for p in left) == sorted(f"{name}.json" for name in unbroken)
    for name, before in unbroken.items():
        killed = read_run(folder / f"{name}.json")
        assert killed["metrics"] == before["metrics"], "a kill changed a number"
        assert killed["progress"]["history"] == before["progress"]["history"]


def test_three_kills_lose_no_run_and_change_no_number(small, study):
    check_kills(small, study, kills=3, steps=6, seeds=2)


def test_a_kill_right_after_the_run_file_leaves_no_checkpoint(small, study):
    config = small(method="untrained")
    path = made(config, "quick")
    checkpoint = runs.checkpoint_of(path.stem)
    for again in (
        partial(runs.make_run, path=path),
        lambda run: runs.run_grid([run], "quick"),
    ):
        checkpoint.write({"step": 1})
        again(config)
        assert not checkpoint.path.exists()


@pytest.mark.slow
def test_fifty_kills_lose_no_run_and_change_no_number(small, study):
    check_kills(small, study, kills=50, steps=60, seeds=12)


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
    runs.run_grid(configs, "quick", workers=0, bar=False)


def test_two_grids_at_once_share_the_work(small, study):
    configs = [small(method="untrained", seed=seed) for seed in range(4)]
    runs.prepare(configs)
    jobs = [
        fork.Process(target=grid_with_diary, args=(configs, study / "diary"))
        for _ in range(2)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    made = [json.loads(line) for line in (study / "diary").read_text().splitlines()]
    assert [job.exitcode for job in jobs] == [0, 0] and all(
        is_done(c, "quick") for c in configs
    )
    assert sorted(seed for _, seed in made) == list(range(4)), (
        "a run was made twice, or not"
    )
    assert len({process for process, _ in made}) == 2, "one grid did everything"


def test_a_run_that_another_process_makes_is_left_to_it(small, study):
    config = small(method="untrained")
    reached = fork.Event()

    def hold():
        runs.measured = lambda *a: (reached.set(), time.sleep(60))
        made(config)

    job = fork.Process(target=hold)
    job.start()
    assert reached.wait(30)
    assert not runs.make_run(config, run_file(config, "quick"), wait=False)
    job.kill()  # its lock goes with it
    job.join()
    assert runs.make_run(config, run_file(config, "quick"), wait=False)


# --- workers ---
def answer(job):
    if job == "kill me":
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * job


def test_a_killed_worker_takes_only_its_own_job_with_it(monkeypatch):
    monkeypatch.setattr(pool.multiprocessing, "get_context", lambda kind: fork)
    found = {
        job: (result, error)
        for job, result, error in outcomes(answer, [1, "kill me", 2], 1)
    }
    assert found[1] == (2, None) and found[2] == (4, None)
    result, error = found["kill me"]
    told = (
        r"its process was killed \(exit code -9\); the same command goes on from here"
    )
    assert result is None
    with pytest.raises(InputError, match=told):
        raise error


def test_a_worker_ends_with_the_process_that_started_it():
    """Else every kill would leave processes that go on computing, or wait for ever."""
    told, tell = fork.Pipe()

    def worker():
        start_worker()
        tell.send(os.getpid())
        time.sleep(600)

    def parent():
        fork.Process(target=worker).start()
        time.sleep(600)

    job = fork.Process(target=parent)
    job.start()
    assert told.poll(30)
    process = psutil.Process(told.recv())
    job.kill()
    job.join()
    wait_for(
        lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    )


# --- what killed processes leave behind ---
def test_unfinished_writes_of_killed_processes_are_swept_and_those_of_others_stay(
    study,
):
    gone = fork.Process(target=int)
    gone.start()
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
