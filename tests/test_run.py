"""Runs: one file each, whole or not there, whatever is killed and when."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import numpy as np
import pytest
from conftest import ROWS

from mocose_study.data import files
from mocose_lib import learner
from mocose_study.results import tables as results
from mocose_lib.evaluation import sts
from mocose_study.runs import run as runs
from mocose_lib import train as loop
from mocose_study.config import Config, InputError
from mocose_study.data.corpora import load_corpus
from mocose_study.data.files import write_atomically
from mocose_study.systems import METHODS
from mocose_study.systems.base import load_encoder
from mocose_study.runs.run import is_done, run, run_file, run_id


# --- files ---
def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "down.txt"

    def fail(part):
        part.write_text("half a ")
        raise KeyboardInterrupt

    for before in (None, "old"):
        if before:
            write_atomically(path, lambda p: p.write_text('old'))
        with pytest.raises(KeyboardInterrupt):
            write_atomically(path, fail)
        assert (path.read_text() if path.exists() else None) == before
        assert [p.name for p in path.parent.iterdir()] == (["down.txt"] if before else [])


def test_what_a_killed_writer_left_is_swept_up(tmp_path):
    """The half-written file of a process that is gone; that of a living one stays."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    path = tmp_path / "run.json"
    dead, alive = (tmp_path / f".run.json.{pid}" for pid in (gone.pid, os.getppid()))
    dead.write_text("half"), alive.write_text("half")
    (tmp_path / ".another.json.1x").write_text("not ours")
    files.sweep(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".another.json.1x", alive.name]


def test_a_full_disk_leaves_the_old_file_and_no_half_one(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("old")

    def write(part):
        part.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_atomically(path, write)
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["run.json"]


# --- names ---
def test_a_runs_name_depends_on_every_field_and_on_the_encoders_weights(small, tiny_roberta, study):
    config = small()
    assert run_id(config) == run_id(small()) != run_id(small(seed=1))
    runs.encoder_digest.cache_clear()
    assert runs.encoder_digest(config.encoder) != runs.encoder_digest(str(tiny_roberta)) != ""


# --- a run ---
@pytest.fixture
def finished(small):
    config = small()
    return config, run(config, "quick", "cpu")


def test_a_run_file_says_what_was_done_with_what(finished, study):
    config, path = finished
    assert path == run_file(config, "quick") and is_done(config, "quick") and study in path.parents
    record = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert Config.from_dict(record["config"]) == config and record["id"] == path.stem
    assert len(record["encoder_sha256"]) == 12 and {sts.AVERAGE, sts.DEV} <= set(record["metrics"])
    assert {"code", "python", "device", "threads", "packages", "finished"} <= set(record["stamp"])
    assert [row["step"] for row in record["progress"]["history"]] == [2, 4, 6]
    best = max(record["progress"]["history"], key=lambda row: row["score"])
    assert record["progress"]["best_step"] == best["step"]
    assert record["metrics"][sts.DEV] == pytest.approx(best["score"], abs=1e-3)


def test_a_finished_run_is_not_done_again_and_leaves_no_checkpoint(finished, study):
    config, path = finished
    before = path.stat().st_mtime_ns
    assert run(config, "quick", "cpu") == path and path.stat().st_mtime_ns == before
    assert not list((study / "data" / "checkpoints").glob("*"))


@pytest.mark.parametrize("changes", [dict(method="untrained"), dict(selection="last")])
def test_a_run_without_a_chosen_checkpoint_is_plain_json_too(small, changes):
    path = run(small(**changes), "quick", "cpu")
    json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_an_untrained_run_scores_the_encoder_as_it_comes(small):
    config = small(method="untrained")
    path = run(config, "quick", "cpu")
    expected = sts.evaluate(load_encoder(config, "cpu").encode, "generated")
    found = json.loads(path.read_text())["metrics"]
    assert {k: found[k] for k in expected} == pytest.approx(expected, abs=0.01)


def test_resamples_of_the_test_pairs_stand_in_the_file_where_they_are_asked_for(small):
    plain = json.loads(run(small(method="untrained"), "quick", "cpu").read_text())
    asked = json.loads(run(small(method="untrained", resamples=20), "quick", "cpu").read_text())
    assert "resampled" not in plain and plain["metrics"] == asked["metrics"]
    assert len(asked["resampled"]) == 20 and np.std(asked["resampled"]) > 0
    assert np.mean(asked["resampled"]) == pytest.approx(asked["metrics"][sts.AVERAGE], abs=10)


def test_whitening_behind_training_is_learnt_from_the_corpus(small):
    """Against eigenvectors of the covariance of its first sentences, from the same training."""
    config = small(method="simcse", whitened_on=50)
    encode = METHODS["simcse"](config).encode
    known = encode(load_corpus(config.corpus, config.corpus_size)[:50]["sentence"])
    variance, directions = np.linalg.eigh(np.cov(known.T, dtype=np.float64))
    kept = variance > 1e-6 * variance.max()
    kernel = directions[:, kept] / np.sqrt(variance[kept])
    expected = sts.evaluate(lambda texts: (encode(texts) - known.mean(0)) @ kernel, config.benchmark)
    found = json.loads(run(config, "quick", "cpu").read_text())["metrics"]
    assert found["sts_avg"] == pytest.approx(expected["sts_avg"], abs=0.01)
    assert found["sts_avg"] != pytest.approx(sts.evaluate(encode, config.benchmark)["sts_avg"], abs=0.1)


@pytest.mark.parametrize("place", ["train", "evaluate", "write"])
def test_an_interrupted_run_ends_with_the_same_numbers(small, monkeypatch, place):
    config = small()
    whole = json.loads(run(config, "whole", "cpu").read_text())
    monkeypatch.setattr(learner, "SAVE_SECONDS", -1)

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        if place == "train":
            real, calls = loop.optimise, iter(range(1, 99))
            once.setattr(loop, "optimise", lambda *a: stop() if next(calls) == 4 else real(*a))
        else:
            target = (sts, "evaluate") if place == "evaluate" else (runs, "write_atomically")
            once.setattr(*target, stop)
        with pytest.raises(KeyboardInterrupt):
            run(config, "broken", "cpu")
    assert not is_done(config, "broken")
    record = json.loads(run(config, "broken", "cpu").read_text())
    assert record["metrics"] == whole["metrics"]
    assert record["progress"]["history"] == whole["progress"]["history"]


def test_an_unknown_method_is_one_sentence(small):
    with pytest.raises(InputError, match="no method 'mocoso'"):
        run(small(method="mocoso"), "quick", "cpu")


# --- results ---
def test_runs_become_a_table_and_what_is_missing_is_said(finished, small):
    config, path = finished
    table = results.load_runs("quick", [config])
    assert table["id"].tolist() == [path.stem] and table["ema_decay"].tolist() == [config.ema_decay]
    assert np.isfinite(table[sts.AVERAGE]).all() and table["best_step"].tolist()[0] in (2, 4, 6)
    assert results.history("quick", [config])["step"].tolist() == [2, 4, 6]
    with pytest.raises(InputError, match="1 of 2 runs"):
        results.load_runs("quick", [config, small(seed=9)])


@pytest.mark.parametrize("text", ["", '{"id": "x", "met', "{}", "[]", "3"])
def test_a_damaged_run_file_is_named(finished, text):
    config, path = finished
    path.write_text(text)
    with pytest.raises(InputError, match=path.name):
        results.load_runs("quick", [config])


# --- grids and kills ---
@pytest.mark.parametrize("workers", [0, 1])
def test_a_grid_skips_what_is_done_and_reports_what_fails(small, workers):
    """One run is there, one works, one cannot: the first two are kept, the third is named."""
    done, good = small(steps=2), small(steps=2, seed=1)
    first = run(done, "quick", "cpu")
    before = first.stat().st_mtime_ns
    found = runs.run_grid([done, good, done], "quick", workers, bar=False)
    assert found == [run_file(done, "quick"), run_file(good, "quick")]
    assert first.stat().st_mtime_ns == before and all(path.exists() for path in found)
    with pytest.raises(InputError, match="no method"):
        runs.run_grid([done, small(method="mocoso")], "quick", workers, bar=False)


def test_the_number_of_workers_may_come_from_the_environment(small, monkeypatch):
    monkeypatch.setenv("MOCOSE_WORKERS", "3")
    assert runs.worker_count(None) == 3 and runs.worker_count(1) == 1
    monkeypatch.setenv("MOCOSE_WORKERS", "two")
    for wanted in (None, -1):
        with pytest.raises(InputError, match="it must be 0, for runs in this process"):
            runs.run_grid([small()], "quick", wanted, bar=False)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_failing_run_does_not_stop_the_others(small, study, workers):
    """The second finds a damaged checkpoint when its turn comes."""
    configs = [small(steps=2, seed=seed) for seed in (3, 4, 5)]
    damaged = study / "data" / "checkpoints" / f"{run_id(configs[1])}.pt"
    damaged.parent.mkdir(parents=True, exist_ok=True)
    damaged.write_text("no checkpoint")
    with pytest.raises(InputError, match=f"1 of 3 runs failed; {damaged.stem}: "):
        runs.run_grid(configs, "quick", workers, bar=False)
    assert [is_done(c, "quick") for c in configs] == [True, False, True]


@pytest.mark.parametrize("method, changes, sentence", [
    ("word_vectors", {"vectors": "vectors.txt"}, r"vectors\.txt has 2 numbers in line 2; expected are 3"),
    ("simcse_supervised", {"triplets": "pairs.tsv"}, r"pairs\.tsv has no contradictions"),
    ("declutr", {}, "corpus 'generated' has no documents"),
    ("simcse", {"positives": "next_sentence"}, "corpus 'generated' has no documents"),
])  # fmt: skip
def test_bad_input_of_any_method_ends_a_grid_before_its_first_run(
    small, tmp_path, monkeypatch, method, changes, sentence
):
    (tmp_path / "vectors.txt").write_text("a 1 2 3\nb 1 2\n")
    (tmp_path / "pairs.tsv").write_text("sent0\tsent1\na\tb\n")
    monkeypatch.chdir(tmp_path)
    good, bad = small(steps=2), small(method=method, **changes)
    with pytest.raises(InputError, match=sentence):
        runs.run_grid([good, bad], "quick", workers=1, bar=False)
    assert not is_done(good, "quick")


GRID = """
import json, sys
import torch
from mocose_lib import learner
from mocose_study.data import tasks
from mocose_study.config import Config
from mocose_study.runs import run as runs

torch.set_num_threads(1)
tasks.ROWS_GENERATED["generated"] = int(sys.argv[2])
learner.SAVE_SECONDS = 0.0
configs = [Config.from_dict(c) for c in json.loads(sys.argv[1])]
print("ready", flush=True)
for config in configs:
    runs.run(config, "kills", "cpu")
print("done", flush=True)
"""


WORKERS = """
import json, sys
from mocose_study.config import Config
from mocose_study.runs.run import run_grid

if __name__ == "__main__":
    print("ready", flush=True)
    run_grid([Config.from_dict(json.loads(sys.argv[1]))], "kills", workers=1, bar=False)
"""


def whole(path) -> bool:
    """Whether a run file can be read to its end."""
    return {"id", "metrics", "stamp"} <= set(json.loads(path.read_text()))


def kill_often(study, configs, kills, rng):
    """Starts the grid again and again, and kills it (SIGKILL) at a random moment, `kills` times."""
    argument = json.dumps([asdict(c) for c in configs])
    finished: dict[str, bytes] = {}
    folder = study / "data" / "runs" / "kills"
    for attempt in range(kills + 1):
        job = subprocess.Popen(
            [sys.executable, "-c", GRID, argument, str(ROWS)], stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert job.stdout.readline() == "ready\n"
        if attempt < kills:
            time.sleep(rng.random() * 0.8)
            os.killpg(job.pid, signal.SIGKILL)
        rest = job.stdout.read()
        job.wait()
        for name, content in finished.items():
            assert (folder / name).read_bytes() == content, "a finished run was lost or changed"
        assert all(whole(path) for path in folder.glob("*.json"))
        finished |= {path.name: path.read_bytes() for path in folder.glob("*.json")}
    assert rest == "done\n"
    return finished


def check_kills(small, study, kills, steps, seeds):
    configs = [small(steps=steps, eval_every=steps // 2, seed=seed, corpus_size=32) for seed in range(seeds)]
    finished = kill_often(study, configs, kills, random.Random(0))
    assert set(finished) == {f"{run_id(c)}.json" for c in configs}
    left = [p.name for p in (study / "data").rglob("*") if p.is_file() and p.parent.name in ("kills", "checkpoints")]
    assert sorted(left) == sorted(finished), "a half-written file or a checkpoint is left"
    for config in configs[:3]:
        unbroken = json.loads(run(config, "whole", "cpu").read_text())
        killed = json.loads(finished[f"{run_id(config)}.json"])
        assert killed["metrics"] == unbroken["metrics"], "a kill changed a number"
        assert killed["progress"]["history"] == unbroken["progress"]["history"]


def test_six_kills_lose_no_finished_run_and_leave_no_half_written_file(small, study):
    check_kills(small, study, kills=6, steps=20, seeds=3)


@pytest.mark.slow
def test_fifty_kills_lose_no_finished_run_and_leave_no_half_written_file(small, study):
    check_kills(small, study, kills=50, steps=60, seeds=12)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="POSIX only")
def test_workers_end_when_the_grids_own_process_is_killed(small, study):
    """Else every kill would leave processes that go on computing, or wait for ever."""
    path = study / "grid.py"  # a file, since its workers import it
    path.write_text(WORKERS)
    job = subprocess.Popen(
        [sys.executable, str(path), json.dumps(asdict(small(steps=100_000, corpus_size=32)))],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert job.stdout.readline() == "ready\n"
    # the resource tracker, and a worker; or the grid has failed, and there is nothing to wait for
    wait_for(lambda: len(children(job.pid)) >= 2 or job.poll() is not None)
    assert job.poll() is None
    workers = children(job.pid)
    job.kill()
    job.wait()
    wait_for(lambda: not any(alive(pid) for pid in workers))


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


def wait_for(condition, seconds=60):
    """Polls; a hang fails the test, a slow machine does not."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)
