"""The geometry of STS-B's sentences, and how old the queue's keys are."""

import json
import math
from functools import partial

import numpy as np
import pytest
from texts import hashed_words

from mocose_lib.evaluation import geometry as g
from mocose_lib.queue import RANDOM
from mocose_study.systems import fit, probe
from mocose_study.systems.staleness import drift

words = partial(hashed_words, dim=64)


def test_measure_names_the_split():
    found = probe.measure(words, "sample")
    names = "alignment uniformity mean_cosine effective_rank".split()
    assert list(found) == [f"{name} dev" for name in names]
    first, second, every = probe.sentences("sample")
    between = g.alignment(words(first), words(second))
    assert found["alignment dev"] == pytest.approx(between)
    assert found["uniformity dev"] == pytest.approx(g.uniformity(words(every)))
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


def test_vectors_are_collapsed_where_they_are_one_direction_or_no_numbers():
    rng = np.random.default_rng(0)
    healthy = rng.normal(size=(200, 32))
    line = np.outer(rng.normal(size=200), np.ones(32)) + 1e-4 * healthy
    assert 0.7 < g.mean_cosine(healthy + 2) < 0.9  # an anisotropic cone is no collapse
    for x, told in (
        (healthy, False),
        (healthy + 2, False),
        (1 + 1e-3 * healthy, True),  # one way
        (line, True),  # both ways
        (np.full((9, 4), np.nan), True),
    ):
        assert probe.is_collapsed(probe.describe(x)) is told


# --- staleness ---
def test_it_is_measured_at_three_quarters_where_there_is_a_queue(small):
    staleness = fit(small(steps=8), bar=False).progress.staleness
    assert [row["step"] for row in staleness] == [2, 4, 6]
    assert staleness[-1]["n"] == [4, 4, 4]
    none = small(queue_size=0, queue_init=0)
    assert fit(none, bar=False).progress.staleness == []


def drifting(turn, ages=4, batch=50, dim=64):
    """Keys whose sentence's vector turns by `turn` radians per step of age."""
    fresh, other = np.random.default_rng(0).normal(size=(2, ages * batch, dim))
    fresh = g.unit(fresh)
    other = g.unit(other - (other * fresh).sum(1, keepdims=True) * fresh)
    age = np.repeat(np.arange(ages), batch)
    angle = turn * age[:, None]
    return np.cos(angle) * fresh + np.sin(angle) * other, fresh, age


@pytest.mark.parametrize("turn", [0.0, 0.3, math.pi / 6])
def test_drift_retains_what_is_known_and_random_entries_have_no_age(turn):
    stored, fresh, ages = drifting(turn)  # of pi / 6: cosines 1, 0.87, 0.5, 0
    ages[-50:] = RANDOM
    columns = drift(stored, fresh, fresh, ages)
    floor = g.mean_cosine(fresh)
    left = np.clip((np.cos(turn * np.arange(3)) - floor) / (1 - floor), 0, 1)
    assert columns["retained"] == pytest.approx(left) and columns["n"] == [50] * 3
    assert json.dumps(columns)
    assert not any(drift(stored, fresh, fresh, np.full_like(ages, RANDOM)).values())


def test_dropout_is_no_drift_and_a_collapsed_target_retains_nothing():
    """Keys as far from fresh ones as two fresh ones from each other are as new."""
    rng, (stored, fresh, ages) = np.random.default_rng(1), drifting(0.0)
    noisy = [x + 0.1 * rng.normal(size=x.shape) for x in (stored, fresh, fresh)]
    assert g.unit(noisy[0])[0] @ g.unit(noisy[1])[0] < 0.8
    assert min(drift(*noisy, ages)["retained"]) > 0.9
    same = np.ones_like(fresh)
    assert drift(same, same, same, ages)["retained"] == [0] * 4
