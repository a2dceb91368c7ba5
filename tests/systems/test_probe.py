"""The geometry of STS-B's sentences: of all of them, and of the probe's sample."""

from functools import partial

import numpy as np
import pytest
import torch
from texts import hashed_words

from mocose_lib.evaluation.geometry import alignment, uniformity
from mocose_study.systems import probe

words = partial(hashed_words, dim=64)


def test_measure_names_the_split():
    found = probe.measure(words, "sample")
    assert set(found) == {"alignment dev", "uniformity dev", "mean_cosine dev",
                          "effective_rank dev", "isotropy dev"}  # fmt: skip
    first, second, every = probe.sentences("sample")
    assert found["alignment dev"] == pytest.approx(alignment(words(first), words(second)))
    assert found["uniformity dev"] == pytest.approx(uniformity(words(every)))
    assert len(every) == len(set(every)) > len(first)
    values = probe.spectrum(words, "sample")
    assert values[0] == 1 and (np.diff(values) <= 0).all() and len(values) == 64


def test_probe_is_measure_on_a_fixed_sample(monkeypatch, encoder):
    monkeypatch.setattr(probe, "PROBE_PAIRS", 10_000)
    monkeypatch.setattr(probe, "PROBE_SENTENCES", 10_000)
    probed, measured = probe.Probe(encoder, "sample")(), probe.measure(encoder.encode, "sample")
    assert set(probed) == {"alignment", "uniformity", "mean_cosine", "effective_rank"}
    for name, value in probed.items():
        assert value == pytest.approx(measured[f"{name} dev"], rel=1e-4), name


def test_probe_repeats_itself_and_leaves_training_as_it_was(encoder):
    encoder.train()
    before = torch.get_rng_state()
    look = probe.Probe(encoder, "sample")
    assert look() == look() == probe.Probe(encoder, "sample")()
    assert encoder.training and torch.equal(before, torch.get_rng_state())
    assert sum(len(ids) for ids, _ in look.batches) == 2 * look.pairs + probe.PROBE_SENTENCES
