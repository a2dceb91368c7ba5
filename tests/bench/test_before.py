"""Pre-training's floor counts what torch counts; the start of a run is measured in all its parts."""

from dataclasses import replace

import pytest
from torch.utils.flop_counter import FlopCounterMode

from mocose_study.bench import before, clock
from mocose_study.config.profiles import PRETRAINING
from mocose_study.data.corpora import load_corpus, tokenized
from mocose_study.data.encoders import locate
from mocose_study.pretraining.masking import Batches
from mocose_study.pretraining.pretrain import Pretraining

SMALL = replace(PRETRAINING["tiny"], tokens_per_batch=512, bf16=False)


def test_flops_of_a_pretraining_step_are_those_that_torch_counts():
    """Beside the counted products there are two small ones: the pooler, and the next sentence."""
    from transformers import AutoTokenizer

    text = tokenized(load_corpus("open", 500), AutoTokenizer.from_pretrained(locate("tiny")), None)
    t, batches = Pretraining(SMALL, "cpu"), Batches(SMALL, text)
    with FlopCounterMode(display=False) as counter:
        for step in range(2):  # a batch of pairs, and one of single sentences
            t.step(batches.batch(step))
    assert counter.get_total_flops() / 2 == pytest.approx(before.step_flops(SMALL), rel=0.02)


def test_a_pretraining_step_is_timed(monkeypatch):
    monkeypatch.setitem(before.TEXT, "open", 500)
    found = clock.timed(lambda c: before.pretrain_steps(SMALL, c), 0.05)
    assert found["seconds"] > 0 and found["steps"] >= 1


def test_what_stands_before_a_run_has_its_seconds(monkeypatch):
    monkeypatch.setattr(before, "TEXT", {"open": 500})
    monkeypatch.setattr(before, "processes", lambda n, call: [call()])
    rows = before.start()
    names = ["500 sentences", "imports", "encoder and text", "first evaluation"]
    assert [row["what"] for row in rows] == names and all(row["seconds"] > 0 for row in rows)
