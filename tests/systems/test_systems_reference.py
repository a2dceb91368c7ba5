"""SimCSE here beside sentence-transformers: one loss, and, without dropout, one training."""

import sys

import numpy as np
import pytest
import torch
from making import built
from texts import open_sentences

from mocose_lib import InputError
from mocose_study.config import vary
from mocose_study.systems import METHODS, simcse_st
from mocose_study.systems.base import load_encoder
from mocose_study.systems.simcse import SimCSE

SENTENCES = open_sentences(8, start=50)
THEIRS = dict(mlp="never", selection="last", precision="float32", weight_decay=0.0)


@pytest.fixture
def config(small):
    for name in ("sentence_transformers", "accelerate"):
        pytest.importorskip(name, reason=f"{name} is for this comparison only")
    return small(method="simcse_reference", dropout=0.0, **THEIRS)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_their_loss_on_a_batch_is_ours(config, pooling):
    config = vary(config, pooling=pooling)
    system = built(SimCSE, config)
    ids = system.encoder.tokenize(SENTENCES, config.max_length)
    ours = system.loss(ids, ids, torch.Generator())
    model = simcse_st.make_model(config, system.encoder)
    features = [model.preprocess(SENTENCES) for _ in range(2)]
    theirs = simcse_st.make_loss(config, model)(features, torch.zeros(8))
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)


def test_without_dropout_their_training_ends_where_ours_does(config):
    """Batches, loss, gradients, clipping, optimiser and schedule in one."""
    before, ours, theirs = (
        METHODS[name](vary(config, method=name), bar=False)
        for name in ("untrained", "simcse", "simcse_reference")
    )
    assert theirs.progress.step == config.steps
    start, a, b = (fitted.encode(SENTENCES) for fitted in (before, ours, theirs))
    assert np.abs(a - start).max() > 0.01
    np.testing.assert_allclose(a, b, atol=1e-4)


def test_an_encoder_kept_in_half_precision_is_trained_in_float32(config, tmp_path):
    encoder = load_encoder(config, "cpu")
    encoder.tokenizer.save_pretrained(tmp_path)
    encoder.model.half().save_pretrained(tmp_path)
    model = simcse_st.make_model(vary(config, encoder=str(tmp_path)), encoder.float())
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_a_missing_package_is_one_sentence(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(InputError, match="needs the package 'accelerate', which is not installed"):
        METHODS["simcse_reference"](small(method="simcse_reference", **THEIRS))
