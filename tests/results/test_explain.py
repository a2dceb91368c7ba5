"""Variance explained: against what is known by construction."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from mocose_study.results import explain
from mocose_study.results.explain import variance_explained


def made(score, noise=0.0, seeds=3):
    rng = np.random.default_rng(0)
    rows = [
        {
            "label": f"{a} {b}",
            "a": a,
            "b": b,
            "sum": a + b,
            "seed": seed,
            "sts_avg": score(a, b) + 10 * seed + noise * rng.standard_normal(),
        }
        for a, b in product((1.0, 2.0, 4.0, 8.0), (1.0, 3.0, 9.0, 27.0))
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


MODELS = {"a": ["a"], "b": ["b"], "a, b": ["a", "b"], "sum": ["sum"]}


def test_a_score_that_hangs_on_one_column_is_explained_by_it_alone():
    runs = made(lambda a, b: 3 * np.log(a) - np.log(a) ** 2)
    found = variance_explained(runs, MODELS).set_index("model")
    assert found.loc["a", "fitted"] == pytest.approx(1)
    assert found.loc["a", "left out"] == pytest.approx(1)
    assert found.loc["b", "fitted"] == pytest.approx(0, abs=1e-9)
    assert found.loc["b", "left out"] < 0  # worse than the mean


def test_the_fitted_share_is_that_of_least_squares_by_hand():
    runs = made(lambda a, b: np.log(a) + 0.3 * np.log(b), noise=0.5)
    centred = runs["sts_avg"] - runs.groupby("seed")["sts_avg"].transform("mean")
    x = np.log(runs["sum"])
    design = np.column_stack([np.ones(len(x)), x, x**2])
    rest = centred - design @ np.linalg.lstsq(design, centred, rcond=None)[0]
    found = variance_explained(runs, MODELS).set_index("model")
    assert found.loc["sum", "fitted"] == pytest.approx(
        1 - (rest**2).sum() / (centred**2).sum()
    )


def test_differences_between_seeds_explain_nothing_and_hide_nothing():
    found = variance_explained(made(lambda a, b: np.log(b)), {"b": ["b"]})
    assert found["left out"].item() == pytest.approx(1)


def test_the_nearest_sentence_is_that_of_the_greatest_cosine():
    places = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [3.0, 3.0]}

    def encode(sentences):
        return np.array([places[sentence] for sentence in sentences])

    found = explain.nearest({"now": encode}, ["a"], ["b", "c"])
    assert found.loc["a"].tolist() == ["c", 0.71]
