"""The benchmark counts rightly, compares like with like, and survives interruption."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from tqdm.auto import tqdm
from transformers import BertConfig

from mocose_lib import encoder as encoders
from mocose_lib import learner
from mocose_study.bench import (
    breakdown,
    clock,
    cost,
    floor,
    gpu,
    plain,
    run,
    sizes,
    tables,
    training,
)
from mocose_study.config import InputError, vary
from mocose_study.data.corpora import load_corpus
from mocose_study.systems.base import column, load_encoder, training_ids
from mocose_lib.train import train

ROOT = Path(__file__).resolve().parents[1]
SHAPE = BertConfig(hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)


class Once:
    """A clock that lets one step pass."""

    def __init__(self):
        self.steps = 0

    def step(self):
        self.steps += 1
        if self.steps > 1:
            raise clock.Enough


# --- the floor ---
@pytest.mark.parametrize(("first_token", "expected"), [(False, 1824), (True, 864)])
def test_products_of_a_layer_by_hand(first_token, expected):
    """6 tokens: 3 x 192 for queries, keys, values; 144 scores, 144 mixture, 192 output, 384 up and
    down. For [CLS] alone, 2 of them: 64 + 2 x 192, 48, 48, 64, 128, 128."""
    assert floor.flops(floor.encoder_products(SHAPE, 2, 3, 1, first_token)) == expected


@pytest.mark.parametrize("first_token", [True, False])
@pytest.mark.parametrize("method", ["mocose", "simcse"])
def test_flops_of_a_step_are_those_that_torch_counts(small, monkeypatch, first_token, method):
    if not first_token:
        monkeypatch.setattr(encoders, "applies", lambda model: False)
    config = small(corpus_size=400, batch_lengths="equal", queue_size=16, queue_init=16)
    loop = {"mocose": training.our_mocose, "simcse": training.our_simcse}[method]
    lengths = []
    pad = encoders.Encoder.pad

    def noted(self, ids):
        lengths.append(max(map(len, ids)))
        return pad(self, ids)

    monkeypatch.setattr(encoders.Encoder, "pad", noted)
    with FlopCounterMode(display=False) as counter, pytest.raises(clock.Enough):
        loop(config, Once())
    config = vary(config, method=method, mlp="never")
    products = floor.step_products(config, load_encoder(config, "cpu"), lengths[-1], first_token)
    assert counter.get_total_flops() == floor.flops(products)


def test_peak_and_products_are_times():
    assert floor.peak("float32", 0.01) > 0
    products = [floor.Product(3, 4, 4, 4, 2), floor.Product(1, 4, 4, 4, 1)]
    assert floor.seconds_of(products, "bf16") > 0


# --- the plain loop ---
def test_the_plain_loop_has_the_losses_of_ours(small, monkeypatch):
    monkeypatch.setattr(learner.sts, "dev_score", lambda *_: 0.0)
    # a gradient of zero but for rounding has any sign, so FGSM may set the two 2 epsilon apart
    config = small(
        steps=8, eval_every=1, dropout=0.0, head_dropout=0.2, fgsm_epsilon=1e-3,
        fgsm_gradient="stale", selection="last")  # fmt: skip
    encoder = load_encoder(config, "cpu")
    ids = training_ids(config, encoder)
    sentences = list(load_corpus(config.corpus, config.corpus_size)["sentence"])
    found = list(plain.losses(config, encoder, sentences, column(ids, "length")))
    ours = train(config, load_encoder(config, "cpu"), ids, bar=False).history
    assert found == pytest.approx([row["loss"] for row in ours], abs=1e-4)


# --- the clock ---
def test_the_clock_leaves_the_first_steps_out(monkeypatch):
    times = iter([0, 10, 20, 30, 31, 33, 36])
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(times))
    found = clock.Clock(seconds=5)
    assert [found.tick() for _ in range(7)] == [False] * 6 + [True]
    assert found.result()["seconds"] == 2 and found.result()["steps"] == 3


def test_a_loop_that_ends_too_early_is_not_timed():
    with pytest.raises(ValueError, match="too few"):
        clock.timed(lambda clock: clock.step(), 1.0)


def test_every_competitor_has_one_turn_in_each_round():
    turns = {name: lambda name=name: {"seconds": len(name)} for name in ("a", "bb", "ccc")}
    rows = list(clock.in_turns(turns, 4, tqdm(disable=True)))
    assert len(rows) == 12
    orders = [tuple(row["system"] for row in rows if row["repeat"] == i) for i in range(4)]
    assert all(sorted(order) == sorted(turns) for order in orders) and len(set(orders)) > 1


# --- the formula ---
def test_the_formula_finds_the_numbers_it_was_made_with():
    rng = np.random.default_rng(0)
    rows = [
        {"flops": f, "activations": a, "parameters": p,
         "seconds": f / 1e11 + 2e-3 + 4e-8 * a + 3e-9 * p}
        for f, a, p in rng.uniform([1e8, 1e4, 1e5], [1e10, 1e6, 1e7], (12, 3))
    ]  # fmt: skip
    fit = cost.fitted(rows, 1e11)
    assert fit == pytest.approx({"fixed": 2e-3, "activation": 4e-8, "parameter": 3e-9}, rel=1e-6)
    for row in rows:
        assert cost.predicted(row, 1e11, fit) == pytest.approx(row["seconds"])


@pytest.mark.parametrize(
    ("operator", "kind"),
    [("aten::addmm", "matrix products"), ("aten::bernoulli_", "dropout: random numbers"),
     ("aten::random_", "dropout: random numbers"),
     ("aten::_fused_adamw_", "optimiser and clipping"), ("aten::lerp_", "moving average"),
     ("aten::embedding_dense_backward", "embedding table"), ("aten::copy_", "copies and casts"),
     ("aten::gelu_backward", "GELU, LayerNorm, softmax"), ("aten::mul", breakdown.ELEMENTWISE)],
)  # fmt: skip
def test_kinds_of_operations(operator, kind):
    assert breakdown.kind_of(operator) == kind


def test_a_breakdown_has_every_kind_and_the_rest(small):
    config = small(steps=1_000, corpus_size=300, batch_size=8, eval_every=1_000)
    found = breakdown.breakdown(config, 0.1)
    assert found.keys() == {*breakdown.KINDS, breakdown.ELEMENTWISE, breakdown.REST}
    assert found["matrix products"] > found["moving average"] > 0


# --- ratios ---
def record(**parts) -> dict:
    return {"id": "bench-x", "peaks": {"float32": 2.0, "bf16": 1.0}, **parts}


def turn(system: str, *seconds: float, **more) -> list[dict]:
    return [{"system": system, "repeat": i, "seconds": s, "cpu_seconds": s / 2, **more}
            for i, s in enumerate(seconds)]  # fmt: skip


def test_ratios_by_hand():
    case = dict(encoder="4x256", text="full", batch=64)
    rows = [
        *turn("MoCoSE float32", 1.0, 2.0, 1.0, **case),
        *turn("SimCSE float32", 1.0, 1.0, 1.0, **case),
        *turn("plain MoCoSE float32", 3.0, 4.0, 2.0, **case),
        *turn("floor float32", 0.6, 0.8, 0.7, **case),
        *turn("products float32", 0.75, 1.0, 0.7, **case),
        *turn("sentence-transformers SimCSE float32", 1.0, 2.0, 1.2, **case),
    ]  # fmt: skip
    bounds = tables.bounds(record(training=rows)).set_index("figure")
    assert bounds.loc["products float32 / authors' code", "median"] == pytest.approx(4 * 273 / 167)
    assert bounds.loc["floor / products float32", "median"] == pytest.approx(0.8)
    grid = turn("one at a time", 3.0) + turn("side by side", 2.0)
    found = tables.ratios(record(training=rows, grid=grid)).set_index("figure")
    step = found.loc["MoCoSE float32 / plain loop"]
    assert (step["median"], step["low"], step["high"], step["n"]) == (2.0, 2.0, 3.0, 3)
    theirs = found.loc["MoCoSE float32 / authors' code"]
    assert theirs["median"] == pytest.approx(2 * 273 / 167) and not theirs["reached"]
    assert found.loc["floor / MoCoSE float32", "median"] == 0.6
    assert found.loc["floor / MoCoSE float32", "reached"]
    assert found.loc["SimCSE float32 / sentence-transformers", "median"] == 1.2
    assert found.loc["grid: side by side / one at a time", "reached"]


def test_transfer_and_probe_may_take_at_most_their_targets():
    case = dict(encoder="2x128", benchmark="generated")
    rows = [
        *turn("STS", 1.0, **case), *turn("sentence-transformers STS, batch 16", 4.0, **case),
        *turn("sentence-transformers STS, batch 128", 3.0, **case),
        *turn("transfer", 5.0, **case, encoding=2.0),
        *turn("probe", 3.0, **case), *turn("step", 2.0, **case),
    ]  # fmt: skip
    found = tables.ratios(record(evaluation=rows)).set_index("figure")
    assert found.loc["seven STS tasks / sentence-transformers STS, batch 128", "median"] == 3.0
    transfer = found.loc["time of seven transfer tasks / encoding them (at most)"]
    assert transfer["median"] == 2.5 and transfer["reached"]
    probe = found.loc["probe / 10 training steps (at most)"]
    assert probe["median"] == pytest.approx(0.15) and not probe["reached"]


def test_the_gpu_s_ratios():
    case = dict(encoder="12x768")
    rows = [
        *turn("MoCoSE bf16", 2.0, **case), *turn("floor bf16", 1.0, **case),
        *turn("one at a time", 30.0, **case), *turn("side by side", 2.0, **case),
    ]  # fmt: skip
    found = tables.ratios(record(gpu=rows)).set_index("figure")
    assert found["median"].to_list() == [0.5, 15.0] and found["reached"].all()


def test_memory_growth_leaves_the_first_fifth_out():
    seen = ((0, 100), (10, 300), (20, 310), (60, 312), (100, 311))
    rows = [{"step": step, "megabytes": megabytes} for step, megabytes in seen]
    assert tables.memory_growth(record(memory=rows)) == 1


# --- a GPU ---
def test_what_is_measured_on_a_gpu(study, monkeypatch):
    """A small encoder's step and floor on the CPU; what the runs side by side are asked for."""
    (study / "data").mkdir(exist_ok=True)
    (study / "data" / "encoders").symlink_to(ROOT / "data" / "encoders")
    asked = []
    monkeypatch.setattr(gpu, "side_by_side", lambda *a: asked.append(a) or {"seconds": 1.0})
    small = sizes.sizes_of("smoke")
    rows = gpu.measure(small, tqdm(disable=True), device="cpu", encoder="1x64")
    found = {row["system"]: row["seconds"] for row in rows}
    assert found.keys() == {"MoCoSE bf16", "floor bf16", "one at a time", "side by side"}
    assert 0 < found["floor bf16"] < found["MoCoSE bf16"]
    assert sorted(asked, key=str) == [(1, 1, small, "cpu"), (small.gpu_runs, 1, small, "cpu")]


def test_without_a_gpu_its_part_is_left_out_or_refused(parts, monkeypatch):
    monkeypatch.setattr(run.torch.cuda, "is_available", lambda: False)
    assert "gpu" not in run._checked("smoke", None, None, ()).parts
    with pytest.raises(InputError, match="needs a GPU"):
        run.bench("smoke", parts=("gpu",), bar=False)


# --- one benchmark, one file ---
@pytest.fixture
def parts(study, monkeypatch):
    """Parts that measure nothing and note when they are called."""
    calls = []

    def part(name):
        def measure(bar):
            calls.append(name)
            return [{"system": name, "repeat": 0, "seconds": 1.0}]

        return 1, measure

    found = {name: part(name) for name in ("training", "grid")}
    monkeypatch.setattr(run, "_work", lambda sizes, precisions: found)
    monkeypatch.setattr(run.floor, "peak", lambda precision, seconds: 1.0)
    monkeypatch.setattr(tables, "STUDY", study)
    monkeypatch.setattr(run, "STUDY", study)
    return found, calls


def test_a_benchmark_is_one_file(parts, study):
    path = run.bench("smoke", bar=False)
    found = tables.newest()
    assert found["id"] == path.stem and path.parent == study / "data" / "runs" / "bench"
    assert found["profile"] == "smoke" and found["stamp"]["threads"] == 1 and found["training"]
    shown = tables.settings(found)
    assert list(shown.columns) == ["training", "grid"] and shown.loc["repeats", "grid"] == "1"
    assert not list((study / "data" / "checkpoints").glob("*.json"))


def killed_in_the_grid(found):
    def killed(bar):
        raise KeyboardInterrupt

    found["grid"] = (1, killed)
    with pytest.raises(KeyboardInterrupt):
        run.bench("smoke", bar=False)


def test_an_interrupted_benchmark_goes_on_behind_its_last_part(parts, study):
    found, calls = parts
    whole = found["grid"]
    killed_in_the_grid(found)
    found["grid"] = whole
    run.bench("smoke", bar=False)
    assert calls == ["training", "grid"]
    run.bench("smoke", repeats=2, bar=False)  # other settings: nothing of it is taken over
    assert calls == ["training", "grid"] * 2


def test_what_an_interrupted_benchmark_has_measured_can_be_asked_for_alone(parts, study):
    found, calls = parts
    killed_in_the_grid(found)
    del found["grid"]
    run.bench("smoke", parts=("training",), bar=False)
    assert calls == ["training"] and tables.newest()["sizes"]["parts"] == ["training"]


def test_what_the_newest_left_out_is_taken_from_older_ones(parts, monkeypatch):
    found, calls = parts
    monkeypatch.setattr(run.time, "strftime", lambda *_: f"20260101T00000{len(calls)}Z")
    older = run.bench("smoke", bar=False).stem
    del found["grid"]
    newer = run.bench("smoke", repeats=2, parts=("training",), bar=False).stem
    merged = tables.newest()
    assert merged["id"] == newer != older and merged["grid"] and merged["training"]
    assert dict(tables.settings(merged).loc["record"]) == {"training": newer, "grid": older}
    assert dict(tables.settings(merged).loc["repeats"]) == {"training": "2", "grid": "1"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(dict(profile="huge"), "no size of the benchmark 'huge'"), (dict(repeats=0), "repeats = 0"),
     (dict(seconds=-1.0), "seconds = -1.0"), (dict(parts=("trainin",)), "no part 'trainin'")],
)  # fmt: skip
def test_bad_input_in_one_sentence(study, arguments, told):
    with pytest.raises(InputError, match=told):
        run.bench(**arguments)


def test_no_benchmark_and_a_damaged_one_are_said(study, monkeypatch):
    monkeypatch.setattr(tables, "STUDY", study)
    with pytest.raises(InputError, match="no benchmark yet"):
        tables.newest()
    folder = study / "data" / "runs" / "bench"
    folder.mkdir(parents=True)
    (folder / "bench-quick-20260101T000000Z.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        tables.newest()
    with pytest.raises(InputError, match="no part 'memory'"):
        tables.rows(record(), "memory")


def test_sizes_can_be_written_down():
    for found in sizes.SIZES.values():
        assert json.loads(json.dumps(run.asdict(found)))["repeats"] >= 1
        assert set(run._work(found, ("float32",))) == set(found.parts)


def test_a_turn_of_every_system_is_timed(small):
    torch.manual_seed(0)
    config = small(steps=1_000, corpus_size=300, batch_size=8, eval_every=1_000)
    loops = (training.our_mocose, training.our_simcse, training.plain_mocose)
    for loop in (*loops, training.their_simcse):
        row = clock.timed(lambda clock, loop=loop: loop(config, clock), 0.01)
        assert row["seconds"] > 0 and row["steps"] >= 1
