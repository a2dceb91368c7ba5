"""The geometry of STS-B's sentences: of all of them, and of the probe's sample."""

from functools import partial

import numpy as np
import pytest
from texts import hashed_words

from mocose_lib.evaluation.geometry import alignment, mean_cosine, uniformity
from mocose_study.systems import probe

words = partial(hashed_words, dim=64)


def test_measure_names_the_split():
    found = probe.measure(words, "sample")
    names = "alignment uniformity mean_cosine effective_rank".split()
    assert list(found) == [f"{name} dev" for name in names]
    first, second, every = probe.sentences("sample")
    between = alignment(words(first), words(second))
    assert found["alignment dev"] == pytest.approx(between)
    assert found["uniformity dev"] == pytest.approx(uniformity(words(every)))
    assert len(every) == len(set(every)) > len(first)
    values = probe.spectrum(words, "sample")
    assert values[0] == 1 and (np.diff(values) <= 0).all() and len(values) == 64


def test_probe_is_measure_on_a_fixed_sample(monkeypatch, encoder):
    look = probe.Probe(encoder.encode, "sample")
    assert len(look.sample) == 2 * look.pairs + probe.PROBE_SENTENCES
    assert look() == look() == probe.Probe(encoder.encode, "sample")()
    monkeypatch.setattr(probe, "PROBE_PAIRS", 10_000)
    monkeypatch.setattr(probe, "PROBE_SENTENCES", 10_000)
    measured = probe.measure(encoder.encode, "sample")
    whole = probe.Probe(encoder.encode, "sample")()
    found = {f"{name} dev": value for name, value in whole.items()}
    assert found == pytest.approx(measured, rel=1e-4)


# --- the collapse monitor ---
def test_collapse_is_named_with_its_first_step():
    rng = np.random.default_rng(0)
    healthy = rng.normal(size=(200, 32))
    line = np.outer(rng.normal(size=200), np.ones(32)) + 1e-4 * healthy
    assert 0.7 < mean_cosine(healthy + 2) < 0.9  # an anisotropic cone is no collapse
    well = [{"step": 1, **probe.describe(x)} for x in (healthy, healthy + 2)]
    well.append({"step": 2, "loss": 1.0})
    assert probe.collapsed_since(well) is None
    for x, told in (
        (1 + 1e-3 * healthy, "the mean cosine of sentences is 1.0"),
        (line, "the effective rank is 1."),
        (np.full((9, 4), np.nan), "the embeddings hold NaN"),
    ):
        rows = [{"step": step, **probe.describe(x)} for step in (3, 4)]
        assert probe.collapsed_since(well + rows).startswith(f"step 3: {told}")
