"""Jobs for a GPU of limited time: what is next, a piece of it, what comes out."""

import json
import shutil
import sys
from dataclasses import replace

import pytest

from mocose_study import bench, cli
from mocose_study.config.profiles import PRETRAINING, PROFILES
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.runs import jobs
from mocose_study.runs.jobs import Job
from mocose_study.systems.base import load_encoder

SMALL = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
REAL = dict(jobs.JOBS)
JOBS = {
    "ema": Job("smoke", ("ema",)),
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


def test_every_job_has_its_profile_and_its_recipe():
    for job in jobs.JOBS.values():
        if job.sections:
            assert job.name in PROFILES and job.configs() and job.configs(2)
            assert {config.steps for config in job.configs(2)} == {2}
        assert job.sections or job.sizes is not None or job.name in PRETRAINING


def test_a_job_is_tried_out_apart_and_its_runs_come_out(mocose, study):
    """Two steps long."""
    assert "ema                0 of    2 done  <- next" in mocose()
    said = mocose("--run", "--steps", 2, "--workers", 0, "--out", study / "out")
    assert said == "ema                2 of    2 done\n"
    tried = sorted(study.glob(f"{jobs.TRIED}/data/runs/smoke/*.json"))
    assert len(tried) == 2 and not (study / "data" / "runs").exists()
    out = sorted((study / "out" / "data").rglob("*.*"))
    assert [p.read_bytes() for p in out] == [p.read_bytes() for p in tried]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["headline", "tables"])
def test_the_jobs_of_a_gpu_run_here_two_steps_long(
    mocose, real_data, study, monkeypatch, name
):
    """One seed."""
    monkeypatch.setattr(jobs, "JOBS", {name: replace(REAL[name], seeds=[0])})
    how = ["--steps", 2, "--seconds", 3_600, "--workers", 0, "--out", study / "out"]
    number = len(jobs.JOBS[name].configs(2))
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
    """The time is up at the first run's third step; its checkpoint goes out."""
    out, steps = study / "out", []

    def due(checkpoint):
        steps.append(1)
        return len(steps) == 2 or (len(steps) == 3 and jobs.signal.raise_signal(14))

    with monkeypatch.context() as once:
        once.setattr(jobs.signal, "alarm", lambda seconds: 0)
        once.setattr(Checkpoint, "due", due)
        said = mocose("--run", "--workers", 0, "--out", out)
    assert "0 of    2 done" in said and len(steps) == 3
    (path,) = study.glob("data/checkpoints/*.pt")
    path.unlink()
    shutil.copytree(out / "data", study / "data", dirs_exist_ok=True)  # as `cp -r` does
    assert Checkpoint(path).read()["progress"]["step"] == 2
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
    assert "2 of    2 done" in said
    assert len(list((study / "out/data/runs/bench").iterdir())) == 2
