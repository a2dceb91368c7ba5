"""The benchmark counts rightly, and compares like with like."""

import json
import sys

import pytest
import torch

from mocose_lib import Encoder, InputError, loading
from mocose_study import bench, cli
from mocose_study.config import Config, configure
from mocose_study.runs import progress
from mocose_study.systems import fit


def linear_steps():
    layer = torch.nn.Linear(4, 5)
    optimizer = torch.optim.SGD(layer.parameters())
    for _ in range(9):
        layer(torch.ones(3, 4)).sum().backward()
        optimizer.step()


# --- the floor ---
def test_operations_of_a_linear_layer_by_hand():
    """A step: 2 x 3 x 4 x 5, and as many for the gradient by the weights."""
    assert bench.step_flops(1, linear_steps) == bench.step_flops(3, linear_steps) == 240


@pytest.mark.parametrize(("fast", "expected"), [(True, 1_440_768), (False, 2_653_184)])
def test_operations_of_a_mocose_step_by_hand(small, study, monkeypatch, fast, expected):
    """4 sentences of 16 tokens, 2 layers x 16. A layer: 98,304 for query, key, value,
    32,768 each for scores, mixture, output, 131,072 up and down; for [CLS] alone 24,576
    in all. The online branch counts three times, the target once; so do 4 and 2 maps of
    the heads with 2,048 each. The queue has 2 x 1,536."""
    text = study / "long.txt"
    words = "a man plays the guitar while two dogs run over a field"
    text.write_text("".join(f"{i} times {words}\n" for i in range(64)))
    sizes = dict(corpus=str(text), queue_init=12, batch_negatives=False)
    config = small(fast=fast, **sizes)
    for place, name in ((Encoder, "check_dropout"), (loading, "check_reading")):
        monkeypatch.setattr(place, name, lambda *_: None)  # before the first step
    train = (fit, config, None, "cpu", False)
    assert bench.step_flops(1, *train) == expected


def test_the_fastest_product_counts(monkeypatch):
    monkeypatch.setattr(bench, "SIDE", {"cpu": 10})
    times = iter([0.5, 0.25, 1.0])
    monkeypatch.setattr(bench, "clocked", lambda *_: next(times))
    assert bench.peak("cpu", tries=3) == 2 * 10**3 / 0.25


# --- the clock ---
def test_the_first_steps_do_not_count_and_all_others_must_be_there(monkeypatch):
    times = iter([0, 10, 20, 22, 26, *range(9)])
    monkeypatch.setattr(progress, "now", lambda: next(times))
    assert bench.step_seconds(2, linear_steps) == 3
    with pytest.raises(ValueError, match="only 9 of 13 steps were trained"):
        bench.step_seconds(10, linear_steps)


# --- the peers ---
def test_sentence_transformers_trains_the_same_shape_in_float32(study, monkeypatch):
    """Encoders are stored in float16, in which a CPU is many times slower."""
    seen, trains = [], bench.optimise
    monkeypatch.setattr(bench, "optimise", lambda *a: [seen.append(a[1]), trains(*a)])
    config = Config(**bench.ENDLESS | {"method": "simcse", "fgsm_epsilon": 0.0})
    bench.step_ends(1, bench.sentence_transformers, config, "cpu")
    (model,) = seen
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)} == {0.1}
    assert model.preprocess(["word " * 99])["input_ids"].shape == (1, 32)


MODEL = """
import nlpaug.augmenter.word as naw
from icecream import ic
from torch import nn
from transformers import BertPreTrainedModel

class MoCoSEModel(BertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        assert (config.K, config.K_start, config.fgsm) == (512, 512, 5e-9)
        assert (config.out_size, config.hidden_dropout_prob) == (128, 0.1)
        self.words = nn.Embedding(config.vocab_size, config.out_size)
        self.target_encoder = self.target_pooler = nn.Linear(2, 2)
        self.init_weights()

    def forward(self, ids, mask, types):
        assert ids.shape == mask.shape == types.shape == (64, 1, 32)
        self.loss = self.words(ids).cuda().sum()
        return self
"""


@pytest.mark.slow
def test_the_authors_code_is_timed_in_a_process_of_its_own(study, tmp_path):
    """A stand-in with the interface and the imports of theirs."""
    (tmp_path / "mocose.py").write_text(MODEL)
    config = Config(**bench.ENDLESS)
    theirs = bench.turns(config, "cpu", 1, tmp_path)["authors' code"]
    assert theirs() > 0 and "mocose" not in sys.modules
    (tmp_path / "mocose.py").write_text("raise ImportError('no such thing')")
    with pytest.raises(InputError, match="no such thing"):
        theirs()


# --- one measurement ---
def test_ratios_by_hand():
    """Each is formed within a round, in which all had the same machine."""
    rows = {"MoCoSE": [1.0, 4.0, 2.0], "SimCSE": [1.0, 1.0, 1.0]}
    rows |= {"authors' code": [3.0, 8.0, 5.0], "floor": [0.5, 1.0, 1.0]}
    found = bench.table({"seconds": rows | {"sentence-transformers": [2.0, 1.0, 4.0]}})
    theirs = found.loc[["authors' code", "floor", "sentence-transformers"], "ratio"]
    assert theirs.tolist() == [2.5, 0.5, 2]
    assert found.loc["MoCoSE", ["median", "min", "max"]].tolist() == [2000, 1000, 4000]


def test_the_command_times_all_and_writes_one_file(study, monkeypatch, capsys):
    arguments = "bench --profile smoke --device cpu --repeats 2 --steps 1"
    monkeypatch.setattr(sys, "argv", ["mocose", *arguments.split()])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="needs a GPU"):
        bench.bench(configure("smoke"), "cuda", repeats=1, steps=1)
    cli.main()
    out = capsys.readouterr().out
    (path,) = (study / "data" / "runs" / "bench").iterdir()
    record = json.loads(path.read_text())
    assert out.endswith(f"{path}\n") and "Seconds of a run of profile smoke" in out
    names = {"MoCoSE", "SimCSE", "floor", "sentence-transformers"}
    assert record["seconds"].keys() == names and all(name in out for name in names)
    assert [len(seconds) for seconds in record["seconds"].values()] == [2] * 4
    assert list(record["run"]) == ["imports", "token ids", "steps", "evaluations"]
