"""The benchmark counts rightly, compares like with like, and survives interruption."""

import json
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
from texts import ROOT
from tqdm.auto import tqdm

from mocose_lib import InputError
from mocose_study.bench import (
    clock,
    cost,
    parts,
    run,
    suite,
    tables,
    training,
)
from mocose_study.config import vary
from mocose_study.runs.files import write_run


# --- the floor ---
def test_operations_of_a_linear_layer_by_hand():
    """A step: 2 x 3 x 4 x 5, and the same for the gradient by the weights; the input has none."""
    layer = torch.nn.Linear(4, 5)

    def train():
        optimizer = torch.optim.SGD(layer.parameters())
        while True:
            layer(torch.ones(3, 4)).sum().backward()
            optimizer.step()

    assert clock.flops(1, train) == clock.flops(3, train) == 240


@pytest.mark.parametrize(("fast", "expected"), [(True, 1_440_768), (False, 2_653_184)])
def test_operations_of_a_mocose_step_by_hand(small, fast, expected):
    """4 sentences of 16 tokens, 2 layers x 16. A layer: 98,304 for queries, keys and values, 32,768
    each for scores, mixture and output, 131,072 up and down; for [CLS] alone 24,576 in all. The
    online branch counts three times, the target once; so do 4 and 2 linear maps of the heads with
    2,048 each; and 2 x 1,536 for the queue."""
    config = small(corpus_size=400, batch_lengths="one", fast=fast, steps=1_000)
    assert training.step_flops(config) == expected


SMALL = training.pretraining_of("2x128", tokens_per_batch=512, bf16=False)


def test_operations_of_a_pretraining_step_by_hand():
    """512 tokens in pairs of 64 or sentences of 32; beside these products there are two small ones:
    the pooler, and the next sentence."""
    layer = 4 * 128 * 128 + 2 * 128 * 512 + 2 * 128 * (64 + 32) / 2
    masked = int(0.15 * 512) * (128 * 128 + 128 * SMALL.vocab_size)
    expected = 3 * 2 * (512 * 2 * layer + masked)
    assert training.step_flops(SMALL) == pytest.approx(expected, rel=0.02)


# --- the clock ---
def test_the_clock_leaves_the_first_steps_out(monkeypatch):
    times = iter([0, 10, 20, 30, 31, 33, 36])
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(times))
    found = clock.Clock(seconds=5)
    for _ in range(6):
        found.tick()
    with pytest.raises(clock.Enough):
        found.tick()
    assert found.result()["seconds"] == 2 and found.result()["steps"] == 3
    with pytest.raises(ValueError, match="too few"):
        clock.timed(1.0, lambda: None)


def test_ctrl_c_ends_what_is_measured_in_a_process_of_its_own(tmp_path):
    begun = tmp_path / "begun"
    work = f"import pathlib, time; pathlib.Path({str(begun)!r}).touch(); time.sleep(600)"
    code = f"from mocose_study.bench.clock import apart; apart(exec, {work!r})"
    job = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        while not begun.exists():
            assert job.poll() is None
            time.sleep(0.1)
        inside = psutil.Process(job.pid).children()
        job.send_signal(signal.SIGINT)
        assert job.wait(60) != 0
        assert not psutil.wait_procs(inside, 10)[1]
    finally:
        job.kill()


def test_every_competitor_has_one_turn_in_each_round():
    turns = {name: lambda name=name: {"seconds": len(name)} for name in ("a", "bb", "ccc")}
    rows = clock.rows([({"encoder": "x"}, turns)], 4, tqdm(disable=True))
    assert len(rows) == 12
    orders = [tuple(row["system"] for row in rows if row["repeat"] == i) for i in range(4)]
    assert all(sorted(order) == sorted(turns) for order in orders) and len(set(orders)) > 1


# --- the formula ---
def test_the_formula_finds_the_numbers_it_was_made_with():
    rng = np.random.default_rng(0)
    drawn = rng.uniform([1e8, 1e4, 1e5], [1e10, 1e6, 1e7], (12, 3))
    table = pd.DataFrame(drawn, columns=["flops", "activations", "parameters"])
    growing = 4e-8 * table["activations"] + 3e-9 * table["parameters"]
    table["seconds"] = table["flops"] / 1e11 + 2e-3 + growing
    fit = cost.fitted(table, 1e11)
    expected = {"fixed": 2e-3, "activations": 4e-8, "parameters": 3e-9}
    assert fit.to_dict() == pytest.approx(expected, rel=1e-6)
    assert cost.predicted(table, 1e11, fit).to_numpy() == pytest.approx(table["seconds"].to_numpy())


def test_a_breakdown_has_every_kind_and_the_rest(small):
    config = small(steps=1_000, corpus_size=300, batch_size=8, eval_every=1_000)
    found = parts.milliseconds(config, 0.1)
    assert found.keys() == {*parts.KINDS, parts.ELEMENTWISE, parts.REST}
    assert found["matrix products"] > 0 and found["moving average"] > 0


def test_a_point_of_the_formula_is_measured(small, monkeypatch):
    config = small(steps=1_000, corpus_size=300, eval_every=1_000)
    monkeypatch.setattr(cost, "points", lambda *_: [("queue", 12, config)])
    found = cost.measure(training.SIZES["smoke"], "float32", tqdm(disable=True))
    (row,) = json.loads(json.dumps(found["rows"]))
    assert (row["varied"], row["value"]) == ("queue", 12) and min(list(row.values())[2:]) > 0
    assert row["megabytes"] > 100  # torch alone takes more


def test_one_thing_grows_at_a_time(study):
    grown = [(what, value) for what, value, _ in cost.points(training.SIZES["smoke"], "float32")]
    configs = [config for *_, config in cost.points(training.SIZES["smoke"], "float32")]
    assert len(grown) == len(set(grown)) and len(configs) == 12
    assert {what for what, _ in grown} == set("queue batch length depth width sentences".split())
    assert {config.corpus_size for config in configs} == {cost.ROWS, 300}


# --- ratios ---
def record(**parts) -> dict:
    return {"id": "bench-x", "peaks": {"float32": 2.0, "bf16": 1.0}, **parts}


def turn(system: str, *seconds: float, **more) -> list[dict]:
    return [
        {"system": system, "repeat": i, "seconds": s, "cpu_seconds": s / 2, **more}
        for i, s in enumerate(seconds)
    ]


def test_ratios_by_hand():
    case = dict(encoder="4x256", text="full", batch=64)
    rows = [
        *turn("MoCoSE float32", 1.0, 2.0, 1.0, **case),
        *turn("SimCSE float32", 1.0, 1.0, 1.0, **case),
        *turn("MoCoSE without fast forms", 3.0, 4.0, 2.0, **case),
        *turn("floor float32", 0.6, 0.8, 0.7, **case),
        *turn("sentence-transformers SimCSE float32", 1.0, 2.0, 1.2, **case),
    ]
    grid = turn("one at a time", 3.0) + turn("side by side", 2.0)
    found = tables.ratios(record(training=rows, grid=grid)).set_index("figure")
    step = found.loc["MoCoSE float32 / without fast forms"]
    assert (step["median"], step["low"], step["high"], step["n"]) == (2.0, 2.0, 3.0, 3)
    assert step["by processor time"] == 2.0
    assert found.loc["floor / MoCoSE float32", "median"] == 0.6
    assert found.loc["floor / MoCoSE float32", "reached"]
    assert found.loc["SimCSE float32 / sentence-transformers", "median"] == 1.2
    assert not found.loc["SimCSE float32 / sentence-transformers", "reached"]
    assert found.loc["grid: side by side / one at a time", "reached"]
    theirs = "MoCoSE float32 / authors' code"
    assert found.loc[theirs, "reached"] == "not measured" and np.isnan(found.loc[theirs, "median"])
    rows += turn("authors' code", 7.0, 12.0, 7.0, **case)
    found = tables.ratios(record(training=rows)).set_index("figure")
    assert found.loc[theirs, "median"] == 7.0 and found.loc[theirs, "reached"]
    seen = ((0, 100), (10, 300), (20, 310), (60, 312), (100, 311))  # the first fifth is left out
    growing = [{"step": step, "megabytes": megabytes} for step, megabytes in seen]
    assert tables.memory_growth(record(memory=growing)) == 1


def test_transfer_and_probe_may_take_at_most_their_targets():
    case = dict(encoder="2x128", benchmark="open")
    rows = [
        *turn("STS", 1.0, **case),
        *turn("sentence-transformers STS, batch 16", 4.0, **case),
        *turn("sentence-transformers STS, batch 128", 3.0, **case),
        *turn("transfer", 5.0, **case, encoding=2.0),
        *turn("probe", 3.0, **case),
        *turn("step", 2.0, **case),
    ]
    found = tables.ratios(record(evaluation=rows)).set_index("figure")
    assert found.loc["STS tasks / sentence-transformers, batch of 128", "median"] == 3.0
    transfer = found.loc["transfer tasks / encoding them (at most)"]
    assert transfer["median"] == 2.5 and transfer["reached"]
    probe = found.loc["probe / training step (at most)"]
    assert probe["median"] == pytest.approx(1.5) and not probe["reached"]


def test_the_committed_records_can_be_shown():
    """Processors are kept apart; an older record's parts fill the gaps of a newer one."""
    found = tables.machines()
    assert len(found) >= 2
    for name, measured in found.items():
        assert {origin["machine"] for origin in measured["origins"].values()} == {name}
        assert len(tables.ratios(measured)) and len(tables.throughput(measured))
        points, fit = tables.cost(measured)
        assert points["error"].abs().median() < 0.2 and fit.min() >= 0
    assert list(tables.side_by_side().columns) == list(found)


# --- the authors' code ---
MODEL = """
import torch
from transformers.modeling_outputs import SequenceClassifierOutput

class MoCoSEModel(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        assert (config.hidden_size, config.K, config.K_start, config.fgsm) == (16, 12, 4, 5e-9)
        self.words = torch.nn.Embedding(config.vocab_size, config.out_size)
        self.target_encoder = self.target_pooler = torch.nn.Linear(2, 2)

    def forward(self, ids, mask, types):
        assert ids.shape == mask.shape == types.shape == (4, 1, 16)
        return SequenceClassifierOutput(loss=(self.words(ids) * mask[..., None]).cuda().sum())
"""


def test_a_checkout_of_the_authors_code_is_timed_in_its_own_process(small, tmp_path):
    """Here a stand-in with the interface of theirs."""
    (tmp_path / "mocose.py").write_text(MODEL)
    found = training.authors_step(tmp_path, small(), 0.01)
    assert found["seconds"] > 0 and found["steps"] >= 1
    (tmp_path / "mocose.py").write_text("raise ImportError('no nlpaug here')")
    with pytest.raises(InputError, match=r"failed: ImportError: no nlpaug here; see the recipe"):
        training.authors_step(tmp_path, small(), 0.01)


# --- a GPU ---
def test_what_is_measured_on_a_gpu(study, monkeypatch):
    """A small encoder's step and floor on the CPU; what the runs side by side are asked for."""
    asked = []
    monkeypatch.setattr(parts, "side_by_side", lambda *a: asked.append(a) or {"seconds": 1.0})
    monkeypatch.setattr(training, "locate", lambda name: ROOT / "data" / "encoders" / "mini")
    small = training.SIZES["smoke"]
    ((case, turns),) = parts.gpu(small, device="cpu", encoder="1x64")
    found = {name: turn()["seconds"] for name, turn in turns.items()}
    assert case == {"encoder": "1x64"}
    assert found.keys() == {"MoCoSE bf16", "floor bf16", "one at a time", "side by side"}
    assert min(found.values()) > 0
    assert asked == [(1, 1, small, "cpu"), (small.gpu_runs, 1, small, "cpu")]


# --- one benchmark, one file ---
@pytest.fixture
def measures(study, monkeypatch):
    """Parts that measure nothing and note when they are called."""
    calls = []

    def measure(name):
        calls.append(name)
        return [{"system": name, "repeat": 0, "seconds": 1.0}]

    found = {name: partial(measure, name) for name in ("training", "grid")}
    monkeypatch.setattr(run, "_work", lambda *a: found)
    monkeypatch.setattr(run, "PARTS", ("training", "grid"))
    monkeypatch.setattr(run.clock, "peak", lambda precision, seconds: 1.0)
    return found, calls


def newest() -> dict:
    return next(iter(tables.machines().values()))


@pytest.mark.parametrize(
    ("changes", "calls", "kept"),
    [
        ({}, ["training", "grid"], ["training", "grid"]),  # it goes on behind its last part
        ({"repeats": 2}, ["training", "training", "grid"], ["training", "grid"]),
        ({"parts": ("training",)}, ["training"], ["training"]),  # what is there can be asked for
    ],
)
def test_an_interrupted_benchmark_goes_on_and_is_one_file(measures, study, changes, calls, kept):
    work, seen = measures

    def killed():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), pytest.MonkeyPatch.context() as once:
        once.setitem(work, "grid", killed)
        run.bench("smoke", bar=False)
    path = run.bench("smoke", bar=False, **changes)
    found = newest()
    assert seen == calls and found["sizes"]["parts"] == kept
    assert found["id"] == path.stem and path.parent == study / "data" / "runs" / "bench"
    assert found["profile"] == "smoke" and found["stamp"]["threads"] == 1 and found["training"]
    assert not list((study / "data" / "checkpoints").glob("*.json"))


def test_what_the_newest_left_out_is_taken_from_older_ones(measures, monkeypatch):
    calls = measures[1]
    monkeypatch.setattr(run.time, "strftime", lambda *_: f"20260101T00000{len(calls)}Z")
    older = run.bench("smoke", bar=False).stem
    newer = run.bench("smoke", repeats=2, parts=("training",), bar=False).stem
    merged = newest()
    assert merged["id"] == newer != older and merged["grid"] and merged["training"]
    assert dict(pd.DataFrame(merged["origins"]).loc["record"]) == {"training": newer, "grid": older}
    assert dict(pd.DataFrame(merged["origins"]).loc["repeats"]) == {"training": "2", "grid": "1"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (dict(profile="huge"), "no size of the benchmark 'huge'"),
        (dict(repeats=0), "repeats = 0"),
        (dict(seconds=-1.0), "seconds = -1.0"),
        (dict(parts=("trainin",)), "no part of the benchmark 'trainin'"),
        (dict(parts=("gpu",)), "needs a GPU"),
        (dict(authors=Path(".")), "is no checkout of the authors' code"),
    ],
)
def test_bad_input_in_one_sentence(study, monkeypatch, arguments, told):
    monkeypatch.setattr(run.torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=told):
        run.bench(**arguments)


def test_no_benchmark_and_a_damaged_one_are_said(study):
    with pytest.raises(InputError, match="no benchmark yet"):
        tables.machines()
    folder = study / "data" / "runs" / "bench"
    folder.mkdir(parents=True)
    for text in ("{", "{}"):
        (folder / "bench-quick-20260101T000000Z.json").write_text(text)
        with pytest.raises(InputError, match="damaged"):
            tables.machines()


def test_every_part_of_every_size_can_be_measured():
    for sizes in training.SIZES.values():
        assert vars(sizes).keys() == vars(training.SIZES["quick"]).keys()
        assert list(run._work(sizes, ("float32",), None, tqdm(disable=True))) == run.PARTS


def test_a_turn_of_every_system_is_timed(small, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(training, "OPEN", 500)
    config = small(steps=1_000, corpus_size=300, batch_size=8, eval_every=1_000, mlp="never")
    for train, configured in (
        (training.fit, vary(config, fast=False)),
        (training.fit, vary(config, method="simcse")),
        (training.their_simcse, config),
        (training.pretrain_steps, SMALL),
    ):
        row = clock.timed(0.01, train, configured)
        assert row["seconds"] > 0 and row["steps"] >= 1


def test_what_stands_before_a_run_has_its_seconds(monkeypatch):
    monkeypatch.setattr(parts, "TEXT", {"open": 500})
    monkeypatch.setattr(parts, "apart", lambda call: call())
    rows = parts.start()
    names = ["500 sentences", "imports", "encoder and text", "first evaluation"]
    assert [row["what"] for row in rows] == names and all(row["seconds"] > 0 for row in rows)


def test_memory_is_noted_at_every_step(monkeypatch, small):
    monkeypatch.setattr(parts, "config_of", lambda *_, **changes: small(steps=100, eval_every=100))
    rows = parts.resident_memory(training.SIZES["smoke"])
    assert [row["step"] for row in rows] == list(range(11)) and rows[0]["megabytes"] > 100


# --- the suite ---
def test_where_the_time_of_study_and_tests_goes(study):
    data, report = study / "data", study / "tests.xml"
    empty = {part: {} for part in ("config", "inputs", "metrics", "progress", "stamp")}
    for i, seconds in enumerate((2.0, 3.5)):
        write_run(data / "runs" / "quick" / f"mocose-{i}.json", {**empty, "seconds": seconds})
    for folder in (data / "runs" / "bench", data / "executed" / "quick"):
        folder.mkdir(parents=True)
    noted = {"metadata": {"papermill": {"duration": 7.25}}}
    (data / "executed" / "quick" / "04_ema.ipynb").write_text(json.dumps(noted))
    places = "tests.bench.test_bench tests.bench.test_x tests.bench notebooks.04_ema.ipynb".split()
    cases = [f'<testcase classname="{place}" name="a" time="1.5"/>' for place in places]
    report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    assert suite.write(report).read_text().splitlines() == [
        "command,part,number,seconds",
        "make study,04_ema,1,7.2",
        "make study,runs,2,5.5",
        "make test,tests/bench,3,4.5",
        "make test,notebooks/04_ema,1,1.5",
    ]
