"""Runs: one file each, with what was done and what came of it."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL, made
from texts import ROOT, stop

from mocose_lib import InputError, trainer
from mocose_study.config import Config
from mocose_study.data import benchmarks
from mocose_study.data.git import code_at
from mocose_study.fast import processor
from mocose_study.runs import files, measure, run
from mocose_study.runs.files import read_run, read_whole, run_file, run_ids
from mocose_study.runs.progress import seconds_of

PINNED = "edd0d6e414cd0013"  # of all defaults; see the test that reads it


def plain(path):
    """Its content, if it is strict JSON, which has no NaN."""
    return json.loads(path.read_text(), parse_constant=pytest.fail)


# --- a run ---
@pytest.fixture
def finished(small):
    config = small()
    return config, made(config)


def test_a_run_file_says_what_was_done_with_what(finished, study):
    config, path = finished
    assert path == run_file(config, "quick") and study in path.parents
    short, record = plain(path), read_run(path)
    assert Config(**record["config"]) == config and record["id"] == path.stem
    fixture = {"encoder", "corpus_size", "benchmark", "eval_max_length"}
    assert set(short["config"]) <= fixture | {*SMALL}
    assert path.stat().st_size < 8_000 and path.read_text().count("\n") == len(short)
    assert {"corpus", "benchmark", "encoder"} <= set(record["inputs"])
    history, metrics = record["progress"]["history"], record["metrics"]
    assert [row["step"] for row in history] == [2, 4, 6]
    best = max(history, key=lambda row: row["score"])
    assert record["progress"]["best_step"] == best["step"] and "sts_avg" in metrics
    assert metrics["sts_dev"] == pytest.approx(best["score"], abs=1e-3)
    assert metrics["sts_last"] == pytest.approx(history[-1]["test"], abs=1e-3)
    stamp = record["stamp"]
    assert stamp["device"].startswith("cpu: ") and stamp["threads"] == 1
    assert code_at().items() <= stamp.items() and "parts" not in stamp
    before = path.stat().st_mtime_ns
    assert made(config) == path and path.stat().st_mtime_ns == before
    assert not list((study / "data" / "checkpoints").glob("*"))


@pytest.mark.parametrize("place", ["train", "evaluate", "write"])
def test_an_interruption_changes_no_number(small, eager, monkeypatch, place):
    """And its seconds count the part before the interruption."""
    config, real, calls = small(), trainer.Trainer.optimise, iter(range(1, 99))
    whole = read_run(made(config, "whole"))

    def optimise(*arguments):
        return stop() if next(calls) == 4 else real(*arguments)

    places = {"train": (trainer.Trainer, "optimise", optimise)}
    places |= {"evaluate": (measure, "evaluate", stop)}
    places |= {"write": (run, "write_run", stop)}
    with monkeypatch.context() as once, pytest.raises(KeyboardInterrupt):
        once.setattr(*places[place])
        made(config, "broken")
    assert read_whole(run_file(config, "broken")) is None
    record = read_run(made(config, "broken"))
    assert record["metrics"] == whole["metrics"]
    assert record["progress"]["history"] == whole["progress"]["history"]
    assert record["seconds"] >= record["progress"]["seconds"] > 0


def test_a_run_of_two_codes_names_both(small, eager, monkeypatch):
    codes = [{"commit": "a", "dirty": False}, {"commit": "b", "dirty": True}]
    with monkeypatch.context() as first, pytest.raises(KeyboardInterrupt):
        first.setattr(run, "code_at", lambda: codes[0])
        first.setattr(measure, "evaluate", stop)
        made(small())
    monkeypatch.setattr(run, "code_at", lambda: codes[1])
    monkeypatch.setattr(trainer.Trainer, "optimise", stop)  # nothing is trained anew
    assert read_run(made(small()))["stamp"]["parts"] == codes


def mine(folder):
    """A benchmark of one's own."""
    rows = "".join(f"{i}\tWords {i}.\tOther words {i}.\n" for i in range(9))
    path = folder / "mine.tsv"
    path.write_text(f"score\tsentence1\tsentence2\n{rows}")
    return path


@pytest.mark.parametrize("name", ["benchmark", "corpus"])
def test_a_file_that_is_edited_ends_a_run(small, study, monkeypatch, eager, name):
    pairs, text = mine(study), study / "mine.txt"
    text.write_text("".join(f"Sentence {i} of a text.\n" for i in range(99)))
    config = small(benchmark=str(pairs), dev=str(pairs), corpus=str(text))
    path, real = run_file(config, "quick"), trainer.Trainer.optimise

    def optimise(*arguments):
        edited = pairs if name == "benchmark" else text
        edited.write_text(edited.read_text().replace("5", "0"))
        real(*arguments)

    monkeypatch.setattr(trainer.Trainer, "optimise", optimise)
    told = f"^{name} was changed while the run trained; no run file is written"
    with pytest.raises(InputError, match=told):
        run.make_run(config, path, "cpu")
    assert not path.exists() and not run.checkpoint_of(path.stem).path.exists()


def test_bf16_is_refused_where_the_processor_is_slow_at_it(small, monkeypatch):
    monkeypatch.setattr(processor, "instruction_sets", lambda: ["avx2"])
    with pytest.raises(InputError, match="set precision = 'float32', or use a GPU"):
        run.prepare([small(precision="bf16")])
    monkeypatch.setattr(processor, "instruction_sets", lambda: ["avx2", "amx_bf16"])
    processor.check_precision(small(precision="bf16"), "cpu")


def test_it_is_said_that_captions_choose_if_no_own_pairs_do(small, study, caplog):
    run.warn_once.cache_clear()
    own = str(mine(study))
    run.prepare([small(), small(benchmark=own, dev=own)])
    assert "captions" not in caplog.text
    run.prepare([small(benchmark=own), small(benchmark=own, seed=1)])
    told = "without --dev, English image captions (images2014) choose"
    assert caplog.text.count(told) == 1


# --- the Config in a run file ---
def test_a_default_that_changes_gets_a_new_number(finished, monkeypatch):
    """Then raise it, rewrite the committed runs, and put the new digest here."""
    assert (files.DEFAULTS, files.digest(files.defaults())) == (1, PINNED)
    monkeypatch.setattr(files, "DEFAULTS", 2)
    with pytest.raises(InputError, match=r"other code has written it \(defaults 1\)"):
        read_run(finished[1])


# --- run files that are not as they were written ---
DAMAGES = {
    "truncated": lambda content: content[:200],
    "binary": lambda content: b"\xff\xfe\x00" * 40,
    "a list": lambda content: b"[]",
    "200,000 brackets": lambda content: b"[" * 200_000,
    "edited": lambda content: content.replace(b'"sts_avg": ', b'"sts_avg": 1'),
}


def test_a_damaged_run_file_is_named_and_the_run_is_made_again(small):
    config = small(method="untrained")
    path = made(config)
    content, metrics = path.read_bytes(), read_run(path)["metrics"]
    for name, damage in DAMAGES.items():
        path.write_bytes(damage(content))
        told = f"run file {path.name} is damaged: .*; move it away to run it again.$"
        with pytest.raises(InputError, match=told):
            read_run(path)
        assert read_whole(path) is None, name
    assert read_run(made(config))["metrics"] == metrics
    other = path.with_name("untrained-0123456789ab.json")
    other.write_bytes(content)
    with pytest.raises(InputError, match="does not match its digest or its name"):
        read_run(other)
    other.unlink()
    os.mkfifo(other)  # is not waited for
    with pytest.raises(InputError, match="is damaged: it is no file"):
        read_run(other)


# --- grids ---
def test_a_grid_skips_what_is_done_and_goes_on_behind_what_fails(
    small, monkeypatch, capsys
):
    configs = [small(method="untrained", seed=seed) for seed in (3, 4, 5)]
    done, failing, good = configs
    before, real = made(done).stat().st_mtime_ns, run.measured

    def measured(config, *rest):
        if config.seed == 4:
            raise FloatingPointError("training diverged at step 2: loss nan")
        return real(config, *rest)

    told = f"1 of 2 runs failed; {run_ids([failing])[0]}: training diverged"
    with monkeypatch.context() as once, pytest.raises(InputError, match=told):
        once.setattr(run, "measured", measured)
        run.run_grid(configs, "quick", workers=0)
    assert not run_file(failing, "quick").exists() and run_file(good, "quick").exists()
    found = run.run_grid([*configs, done], "quick", workers=0)
    assert "1/1" in capsys.readouterr().err  # the bar
    assert found == [run_file(c, "quick") for c in configs]
    assert found[0].stat().st_mtime_ns == before and found[1].exists()


def test_the_number_of_workers_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("MOCOSE_WORKERS", "3")
    assert run.worker_count(None) == 3 and run.worker_count(1) == 1
    monkeypatch.setenv("MOCOSE_WORKERS", "two")
    for wanted in (None, -1):
        with pytest.raises(InputError, match="it must be 0, for runs in this process"):
            run.worker_count(wanted)


def test_the_time_of_runs_is_that_of_a_step_of_finished_ones(small):
    records = [{"seconds": 3.0, "config": {"method": "mocose", "steps": 6}}]
    for method in ("mocose", "simcse"):
        assert seconds_of([small(method=method, steps=60)], records) == 30
    assert seconds_of([small()], []) is None


SCRIPT = """
from mocose_study.runs.pool import outcomes
for _, _, error in outcomes(len, [["a job"]], 1):
    print(error)
"""


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_told_what_it_needs(tmp_path):
    (tmp_path / "mine.py").write_text(SCRIPT)
    command, here = [sys.executable, tmp_path / "mine.py"], {"PYTHONPATH": str(ROOT)}
    options = {"capture_output": True, "text": True, "env": os.environ | here}
    done = subprocess.run(command, **options)
    told = 'no worker could start; a script that starts runs needs `if __name__ == "'
    assert told in done.stdout and "Traceback" not in done.stderr


# --- cosines (SimCSE, appendix G) ---
def test_the_spread_of_the_cosines_is_their_standard_deviation(monkeypatch):
    table = pd.DataFrame({"score": [0, 2, 5], "sentence1": "a"})
    table["sentence2"] = ["0.0", "0.4", "0.8"]
    monkeypatch.setattr(benchmarks, "dev_tables", lambda *_: {"STS-B dev": table})

    def encode(sentences):
        x = np.array([1.0 if s == "a" else float(s) for s in sentences])
        return np.stack([x, np.sqrt(1 - x**2)], 1)

    spread = measure.cosine_spread(encode, Config())
    assert spread**2 == pytest.approx(2 * 0.4**2 / 3)
