"""Runs: one file each, with what was done and what came of it."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL, made

from mocose_lib import InputError, evaluate, trainer
from mocose_study.config import Config
from mocose_study.data import benchmarks
from mocose_study.data.git import code_at
from mocose_study.fast import processor
from mocose_study.runs import files, measure, run
from mocose_study.runs.files import finite, is_done, read_run, run_file, run_id

PINNED = Path(__file__).with_name("defaults.json")


def average(encode, config):
    return evaluate(encode, benchmarks.test_tables(config.benchmark))["average"]


def plain(path):
    """Its content, if it is strict JSON."""
    return json.loads(
        path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is there")
    )


# --- a run ---
@pytest.fixture
def finished(small):
    config = small()
    return config, made(config)


def test_a_run_file_says_what_was_done_with_what(finished, study):
    config, path = finished
    assert (
        path == run_file(config, "quick")
        and is_done(config, "quick")
        and study in path.parents
    )
    short, record = plain(path), read_run(path)
    assert Config.from_dict(record["config"]) == config and record["id"] == path.stem
    assert set(short["config"]) <= {
        *SMALL,
        "encoder",
        "corpus_size",
        "benchmark",
        "eval_max_length",
    }
    assert path.stat().st_size < 8_000 and path.read_text().count("\n") == len(short)
    assert {"corpus", "benchmark", "encoder"} <= set(record["inputs"])
    assert {"sts_avg", "sts_dev", "sts_last"} <= set(record["metrics"])
    history = record["progress"]["history"]
    assert [row["step"] for row in history] == [2, 4, 6]
    best = max(history, key=lambda row: row["score"])
    assert record["progress"]["best_step"] == best["step"]
    assert record["metrics"]["sts_dev"] == pytest.approx(best["score"], abs=1e-3)
    assert record["metrics"]["sts_last"] == pytest.approx(history[-1]["test"], abs=1e-3)
    stamp = record["stamp"]
    assert stamp["device"].startswith("cpu: ") and stamp["threads"] == 1
    assert code_at().items() <= stamp.items() and "parts" not in stamp
    before = path.stat().st_mtime_ns
    assert made(config) == path and path.stat().st_mtime_ns == before
    assert not list((study / "data" / "checkpoints").glob("*"))


def test_resamples_of_the_test_pairs_stand_in_the_file_where_they_are_asked_for(small):
    config = small(method="untrained", resamples=20)
    plain, asked = (read_run(made(c)) for c in (small(method="untrained"), config))
    assert "resampled" not in plain and plain["metrics"] == asked["metrics"]
    assert len(asked["resampled"]) == 20 and np.std(asked["resampled"]) > 0
    assert np.mean(asked["resampled"]) == pytest.approx(
        asked["metrics"]["sts_avg"], abs=10
    )


@pytest.mark.parametrize("place", ["train", "evaluate", "write"])
def test_an_interrupted_run_ends_with_the_same_numbers(
    small, eager, monkeypatch, place
):
    """And its seconds count the part before the interruption."""
    config = small()
    whole = read_run(made(config, "whole"))

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        if place == "train":
            real, calls = trainer.Trainer.optimise, iter(range(1, 99))

            def optimise(*arguments):
                return stop() if next(calls) == 4 else real(*arguments)

            once.setattr(trainer.Trainer, "optimise", optimise)
        elif place == "evaluate":
            once.setattr(measure, "evaluate", stop)
        else:
            once.setattr(run, "write_run", stop)
        with pytest.raises(KeyboardInterrupt):
            made(config, "broken")
    assert not is_done(config, "broken")
    record = read_run(made(config, "broken"))
    assert record["metrics"] == whole["metrics"]
    assert record["progress"]["history"] == whole["progress"]["history"]
    assert record["seconds"] >= record["progress"]["seconds"] > 0


def test_a_run_goes_on_with_other_code_and_its_file_names_both(
    small, eager, monkeypatch
):
    config, codes = (
        small(),
        [{"commit": "a", "dirty": False}, {"commit": "b", "dirty": True}],
    )
    with monkeypatch.context() as first:
        first.setattr(run, "code_at", lambda: codes[0])
        first.setattr(measure, "evaluate", lambda *_: pytest.fail("stopped"))
        with pytest.raises(pytest.fail.Exception):
            made(config)
    monkeypatch.setattr(run, "code_at", lambda: codes[1])
    monkeypatch.setattr(
        trainer.Trainer, "optimise", lambda *_: pytest.fail("trained anew")
    )
    assert read_run(made(config))["stamp"]["parts"] == codes


def test_bf16_is_refused_where_the_processor_is_slow_at_it(small, monkeypatch):
    monkeypatch.setattr(processor, "instruction_sets", lambda: ["avx2"])
    with pytest.raises(InputError, match="set precision = 'float32', or use a GPU"):
        run.prepare([small(precision="bf16")])
    monkeypatch.setattr(processor, "instruction_sets", lambda: ["avx2", "amx_bf16"])
    processor.check_precision(small(precision="bf16"), "cpu")


def test_it_is_said_that_captions_choose_where_no_pairs_of_ones_own_do(
    small, study, caplog
):
    run.warn_once.cache_clear()
    mine = str(study / "mine.tsv")
    rows = "".join(f"{i}\tWords {i}.\tOther words.\n" for i in range(9))
    (study / "mine.tsv").write_text(f"score\tsentence1\tsentence2\n{rows}")
    run.prepare([small(), small(benchmark=mine, dev=mine)])
    assert "captions" not in caplog.text
    run.prepare([small(benchmark=mine), small(benchmark=mine, seed=1)])
    assert (
        caplog.text.count("without --dev, English image captions (images2014) choose")
        == 1
    )


def test_curves_for_tensorboard_and_as_csv(finished, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    _, path = finished
    record = read_run(path)
    files.write_curves(record, tmp_path / "logs")
    folder = tmp_path / "logs" / record["id"]
    lines = (folder / "history.csv").read_text().splitlines()
    assert len(lines) == 4 and lines[0].startswith("step,loss,score")
    events = EventAccumulator(str(folder)).Reload().Scalars("history/loss")
    losses = [row["loss"] for row in record["progress"]["history"]]
    assert [e.step for e in events] == [2, 4, 6]
    assert [e.value for e in events] == pytest.approx(losses, rel=1e-6)


# --- the Config in a run file ---
def test_files_with_all_fields_and_with_those_that_differ_give_the_same_config(
    finished,
):
    config, path = finished
    record = read_run(path)
    older = {k: v for k, v in plain(path).items() if k not in ("defaults", "digest")}
    older["config"] = record["config"]
    path.write_text(json.dumps(older | {"digest": files.digest(older)}, indent=1))
    assert read_run(path) == record and Config.from_dict(record["config"]) == config


def test_a_file_keeps_its_config_when_a_default_changes(finished, monkeypatch):
    """As if `temperature` had become 0.05 later: the run of the file had 0.07."""
    config, path = finished
    monkeypatch.setattr(files, "DEFAULTS", 2)
    monkeypatch.setattr(files, "FORMER", {1: {"temperature": 0.07}})
    files.defaults.cache_clear()
    assert read_run(path)["config"] == finite(asdict(config)) | {"temperature": 0.07}
    files.write_run(path, read_run(path))
    assert plain(path)["defaults"] == 2 and plain(path)["config"]["temperature"] == 0.07
    monkeypatch.undo()
    files.defaults.cache_clear()
    with pytest.raises(InputError, match=r"newer code has written it \(defaults 2\)"):
        read_run(path)


def test_a_default_that_changes_gets_a_new_number():
    """If not, raise `files.DEFAULTS`, and put the old value into `files.FORMER`."""
    pinned = json.loads(PINNED.read_text())
    now = files.defaults(files.DEFAULTS)
    assert pinned["defaults"] == files.DEFAULTS
    assert {k: v for k, v in now.items() if k in pinned["config"]} == {
        k: v for k, v in pinned["config"].items() if k in now
    }


# --- run files that are not as they were written ---
DAMAGES = {
    "truncated": lambda p: p.write_text(p.read_text()[:500]),
    "binary": lambda p: p.write_bytes(b"\xff\xfe\x00" * 40),
    "a list": lambda p: p.write_text("[]"),
    "edited": lambda p: p.write_text(
        p.read_text().replace(str(read_run(p)["metrics"]["sts_avg"]), "99.0")
    ),
    "of another name": lambda p: p.write_text(
        p.read_text().replace(p.stem, "mocose-0123456789ab")
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_run_file_is_named_and_is_not_done(small, caplog, damage):
    config = small(method="untrained")
    path = made(config)
    before = path.read_text()
    damage(path)
    with pytest.raises(
        InputError, match=f"run file {path.name} is damaged: .*move it away to run"
    ):
        read_run(path)
    assert not is_done(config, "quick")
    assert read_run(made(config))["metrics"] == json.loads(before)["metrics"]


# --- grids ---
@pytest.fixture
def cheap(small):
    """Configs whose runs take no time."""
    return lambda seed: small(method="untrained", seed=seed)


def test_a_grid_skips_what_is_done_and_reports_what_fails(cheap, small):
    done, good = cheap(0), cheap(1)
    first = made(done)
    before = first.stat().st_mtime_ns
    found = run.run_grid([done, good, done], "quick", workers=0, bar=False)
    assert found == [run_file(done, "quick"), run_file(good, "quick")]
    assert first.stat().st_mtime_ns == before and all(path.exists() for path in found)
    with pytest.raises(InputError, match="no method"):
        run.run_grid([done, small(method="mocoso")], "quick", workers=0, bar=False)


def test_a_failing_run_does_not_stop_the_others(cheap, monkeypatch):
    configs = [cheap(seed) for seed in (3, 4, 5)]
    real = run.measured

    def measured(config, *rest):
        if config.seed == 4:
            raise FloatingPointError("the loss is nan at step 2: training diverged")
        return real(config, *rest)

    monkeypatch.setattr(run, "measured", measured)
    with pytest.raises(
        InputError, match=f"1 of 3 runs failed; {run_id(configs[1])}: the loss is"
    ):
        run.run_grid(configs, "quick", workers=0, bar=False)
    assert [is_done(c, "quick") for c in configs] == [True, False, True]


def test_the_number_of_workers_may_come_from_the_environment(cheap, monkeypatch):
    monkeypatch.setenv("MOCOSE_WORKERS", "3")
    assert run.worker_count(None) == 3 and run.worker_count(1) == 1
    monkeypatch.setenv("MOCOSE_WORKERS", "two")
    for wanted in (None, -1):
        with pytest.raises(InputError, match="it must be 0, for runs in this process"):
            run.run_grid([cheap(0)], "quick", wanted, bar=False)


# --- cosines by grade (SimCSE, appendix G) ---
def test_the_cosines_of_pairs_are_told_apart_by_their_grade(monkeypatch):
    cosines = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    table = pd.DataFrame({"score": [0, 0, 2.5, 2.5, 5, 5], "sentence1": "a"})
    table["sentence2"] = [str(x) for x in cosines]
    monkeypatch.setattr(benchmarks, "dev_tables", lambda *_: {"STS-B dev": table})

    def encode(sentences):
        x = np.array([1.0 if s == "a" else float(s) for s in sentences])
        return np.stack([x, np.sqrt(1 - x**2)], 1)

    metrics, quantiles = measure.by_grade(encode, Config())
    # grades' means 0.1, 0.5, 0.9; around them ± 0.1; around 0.5 the means have variance 0.32 / 3
    assert metrics["cosine_spread dev"] ** 2 == pytest.approx(0.32 / 3 + 0.01)
    assert metrics["cosine_spread_similar dev"] == pytest.approx(0.1)
    assert metrics["cosine_separation dev"] == pytest.approx(
        (0.32 / 3) / (0.32 / 3 + 0.01)
    )
    medians = [q[2] for q in quantiles]  # two of the five grades have no pairs
    assert medians == pytest.approx([0.1, np.nan, 0.5, np.nan, 0.9], nan_ok=True)
    assert quantiles[0] == pytest.approx([0.01, 0.05, 0.1, 0.15, 0.19])
