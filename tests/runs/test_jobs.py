"""Jobs for a lent GPU: what is next, a piece within its limit, what goes in and out."""

import json
import shutil
import sys
from dataclasses import replace

import pytest

from mocose_lib import InputError
from mocose_study import bench, cli
from mocose_study.config.profiles import PRETRAINING, PROFILES
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.runs import jobs
from mocose_study.runs.jobs import Job
from mocose_study.systems.base import load_encoder

SMALL = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
REAL = dict(jobs.JOBS)
JOBS = {
    "ema": Job("smoke", ("ema",), corpus="open"),
    "bert": Job("bert", sizes=SMALL | {"intermediate_size": 32}),
}


@pytest.fixture
def mocose(study, monkeypatch, capsys):
    """mocose("--run") is `mocose jobs --run` with small jobs; returns its output."""
    monkeypatch.setenv("MOCOSE_CHECKPOINT_SECONDS", "30")
    monkeypatch.setattr(jobs, "JOBS", JOBS)

    def command(*words):
        monkeypatch.setenv("MOCOSE_STUDY", str(study))
        monkeypatch.setattr(sys, "argv", ["mocose", "jobs", *map(str, words)])
        cli.main()
        return capsys.readouterr().out

    return command


def names(folder, pattern):
    return sorted(path.name for path in folder.glob(pattern))


def test_every_job_has_its_profile_and_its_recipe():
    for job in jobs.JOBS.values():
        if job.sections:
            assert job.name in PROFILES and job.configs() and job.configs(2)
            assert {config.steps for config in job.configs(2)} == {2}
        assert job.sections or job.sizes is not None or job.name in PRETRAINING
    seeds = {config.seed for config in jobs.JOBS["headline"].configs()}
    assert seeds == set(range(5)) and len(jobs.JOBS["headline"].configs()) == 20
    small = PRETRAINING["small"]
    assert small.steps * small.tokens_per_batch >= 1e9


def test_a_job_is_tried_out_apart_and_what_it_made_comes_home(mocose, study):
    """Two steps long; the second take changes nothing."""
    assert "ema                0 of    2 done  <- next" in mocose()
    out, tried = study / "out", study / jobs.TRIED
    said = mocose("--run", "--steps", 2, "--workers", 0, "--out", out)
    assert said == "ema                2 of    2 done\n"
    runs = names(tried, "data/runs/smoke/*.json")
    assert len(runs) == 2 and not (study / "data" / "runs").exists()
    assert names(out, "*") == ["ema.tar.gz.00"]
    for path in tried.glob("data/runs/smoke/*.json"):
        path.unlink()
    assert mocose("--take", out) == "2 files are in their place\n"
    assert names(tried, "data/runs/smoke/*.json") == runs
    assert mocose("--take", out) == "0 files are in their place\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rate", "rate-documents", "headline", "tables"])
def test_the_jobs_of_a_gpu_run_here_two_steps_long(
    mocose, real_data, study, monkeypatch, name
):
    """One seed; `mini` is made anew where it is read."""
    few = replace(REAL[name], seeds=[0])
    monkeypatch.setattr(jobs, "JOBS", {"mini": REAL["mini"], name: few})
    how = ["--steps", 2, "--seconds", 3_600, "--workers", 0, "--out", study / "out"]
    if few.name == "mini":
        assert "1 of    1 done" in mocose("--run", "mini", *how)
    number = len(few.configs(2))
    assert f"{number:4} of {number:4} done" in mocose("--run", name, *how)


@pytest.mark.slow
def test_the_large_encoder_is_tried_out_while_it_is_made(
    mocose, real_data, study, monkeypatch
):
    monkeypatch.setattr(jobs, "JOBS", {"small": REAL["small"]})
    mocose("--run", "--steps", 2, "--seconds", 3_600, "--out", study / "out")
    path = study / jobs.TRIED / "data/encoders/small/pretraining.json"
    (tried,) = json.loads(path.read_text())["tried"]
    assert set(tried) == {"tokens", "untrained", "trained"}
    assert tried["untrained"] != tried["trained"]


def test_a_piece_ends_in_time_and_the_next_goes_on_elsewhere(
    mocose, study, monkeypatch
):
    """The time is up at the first run's second step; its checkpoint goes out."""
    out, rings, steps = study / "out", [], []

    class Timer:
        def __init__(self, seconds, call, arguments):
            rings.append(lambda: call(*arguments))

        start = cancel = lambda self: None

    def due(checkpoint):
        steps.append(1)
        return len(steps) == 2 and rings[0]()

    with monkeypatch.context() as once:
        once.setattr(jobs.threading, "Timer", Timer)
        once.setattr(Checkpoint, "due", due)
        said = mocose("--run", "--seconds", 0, "--workers", 0, "--out", out)
    assert "0 of    2 done" in said and len(steps) == 2
    (path,) = study.glob("data/checkpoints/*.pt")
    path.unlink()
    assert mocose("--take", out) == "1 files are in their place\n"
    assert Checkpoint(path).read()["progress"]["step"] == 3
    said = mocose("--run", "ema", "--workers", 0, "--out", out)
    assert "2 of    2 done" in said and not path.exists()
    assert "bert               0 of    2 done  <- next" in mocose()


def test_a_large_encoder_is_timed_in_both_precisions(mocose, study, monkeypatch):
    """With random weights, and the words of `tiny`."""

    def timed(run, device, repeats, steps):
        assert (repeats, steps) == (1, 1)
        assert load_encoder(run, "cpu").width == 16
        half = "-bf16" * (run.precision == "bf16")
        path = study / jobs.TRIED / f"data/runs/bench/bert{half}-cpu.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")

    monkeypatch.setattr(bench, "bench", timed)
    said = mocose("--run", "bert", "--steps", 1, "--out", study / "out")
    assert "2 of    2 done" in said and names(study / "out", "*") == ["bert.tar.gz.00"]


def test_what_is_too_large_stays_and_what_is_damaged_is_refused(
    mocose, study, monkeypatch
):
    folder, out = study / jobs.TRIED / "data" / "encoders" / "new", study / "out"
    monkeypatch.setattr(jobs, "JOBS", {"new": Job("new")})
    jobs.try_out()
    folder.mkdir(parents=True)
    (folder / "pretraining.json").write_text("{}")
    (folder / "weights").write_bytes(bytes(range(256)) * 8)
    (folder / "state.pt").write_bytes(bytes(3_000))
    monkeypatch.setattr(jobs, "MOST", 4_000)
    monkeypatch.setattr(jobs, "SHARD", 100)
    assert jobs.pack("new", out) == ["state.pt"]
    assert len(names(out, "*")) > 2
    shutil.rmtree(folder)
    assert len(jobs.take(out)) == 2 and len((folder / "weights").read_bytes()) == 2048
    (out / "new.tar.gz.01").unlink()
    with pytest.raises(InputError, match=r"new.tar.gz in .* is damaged"):
        jobs.take(out)
    with pytest.raises(InputError, match="has no archive"):
        jobs.take(study)


def test_a_job_carries_what_it_reads_and_no_more_than_fits(mocose, study, monkeypatch):
    data, target = study / "real", study / "carried"
    (data / "corpus").mkdir(parents=True)
    for number in range(10):
        (data / f"corpus/wiki_documents_{number:02}.txt.xz").write_bytes(bytes(9))
    (data / "other").touch()
    monkeypatch.setattr(jobs, "JOBS", {"mini": Job("mini")})
    mocose("mini", "--carry", target, "--data", data)
    assert len(names(target, "*/*")) == 10 and not (target / "other").exists()
    monkeypatch.setattr(jobs, "MOST", 80)
    with pytest.raises(InputError, match="reads 0 MiB; only 0 can be carried"):
        jobs.carry("mini", target)
