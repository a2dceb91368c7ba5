"""Intervals and tests against plain loops, hand-worked values, and simulations of known truth."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from mocose_lib import InputError
from mocose_study.claims.stats import (
    Interval,
    benjamini_hochberg,
    holm,
    interval,
    p_value,
    paired,
    resampled,
)


def test_the_interval_covers_the_truth_with_heavy_tails_too():
    rng = np.random.default_rng(5)
    found = [interval(rng.standard_t(5, 5)) for _ in range(2_000)]
    assert 0.93 <= np.mean([x.low <= 0 <= x.high for x in found]) <= 0.97


def test_t_interval_by_hand():
    # 1 2 3 4 5: mean 3, variance 2.5, standard error sqrt(0.5), t(0.975, 4) = 2.776445
    x = interval([1, 2, 3, 4, 5])
    assert (x.mean, x.n) == (3, 5)
    assert x.low == pytest.approx(3 - 2.776445 * math.sqrt(0.5), abs=1e-5)
    assert x.high == pytest.approx(3 + 2.776445 * math.sqrt(0.5), abs=1e-5)


def test_interval_of_degenerate_and_impossible_values():
    none, one = interval([]), interval([70.5])
    assert none.n == 0 and math.isnan(none.mean) and math.isnan(none.low)
    assert (
        (one.mean, one.n) == (70.5, 1) and math.isnan(one.low) and math.isnan(one.high)
    )
    assert interval([0.1] * 6) == Interval(0.1, 0.1, 0.1, 6)
    for word, values, level in (
        ("finite", [1, math.nan], 0.95),
        ("flat", [[1, 2]], 0.95),
        ("level", [1, 2], 95),
    ):
        with pytest.raises(InputError, match=word):
            interval(values, level)


def test_p_value_by_hand():
    # 1 2 3 4 5 against 1: t = 2 / sqrt(0.5) = 2.828 with 4 degrees of freedom, p = 0.0474
    assert p_value([1, 2, 3, 4, 5], edge=1) == pytest.approx(0.0474, abs=1e-4)
    expected = scipy_stats.ttest_1samp([1, 2, 3, 4, 5], 1).pvalue
    assert p_value([1, 2, 3, 4, 5], edge=1) == pytest.approx(expected)
    assert p_value([2.0, 2.0], edge=2.0) == 1 and p_value([2.0, 2.0]) == 0
    assert math.isnan(p_value([3.0]))


def test_holm_by_hand():
    # sorted 0.005 0.01 0.03 0.04 -> 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 raised to 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == pytest.approx([1, 1]) and len(holm([])) == 0
    adjusted = holm(
        [0.01, math.nan, 0.02]
    )  # the one in the middle was planned, but not made
    assert adjusted[[0, 2]] == pytest.approx([0.03, 0.04]) and math.isnan(adjusted[1])
    with pytest.raises(InputError, match="0 to 1"):
        holm([0.1, 1.5])


def test_benjamini_hochberg_by_hand():
    # sorted 0.01 0.02 0.03 0.5 -> 4 x 0.01, 2 x 0.02, 4/3 x 0.03, 0.5; the first three are 0.04
    found = benjamini_hochberg([0.5, 0.01, math.nan, 0.03, 0.02])
    assert found[[0, 1, 3, 4]] == pytest.approx([0.5, 0.04, 0.04, 0.04]) and math.isnan(
        found[2]
    )
    assert np.isnan(benjamini_hochberg([math.nan])).all()


def test_scores_are_paired_by_seed():
    a, b = {0: 70.0, 1: 72.0, 2: 74.0, 9: 1.0}, {2: 73.0, 1: 71.0, 0: 69.5}
    assert paired(a, b) == pytest.approx([0.5, 1, 1])
    assert paired({1: np.array([1.0, 2])}, {1: np.array([0.0, 3])}).tolist() == [
        [1, -1]
    ]


def test_resampled_differences_are_a_paired_bootstrap(monkeypatch):
    monkeypatch.setattr("mocose_study.claims.stats.BLOCK", 600)  # ten resamples at once
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 26, 60) / 5
    a, b = gold + rng.normal(0, 1, 60), gold + rng.normal(0, 3, 60)
    drawn = np.random.default_rng(3).integers(0, 60, (50, 60))
    for scores in (a, b):
        loop = [
            100 * scipy_stats.spearmanr(gold[row], scores[row]).statistic
            for row in drawn
        ]
        assert resampled(gold, scores, 50, seed=3) == pytest.approx(np.array(loop))


def test_resamples_of_what_has_no_correlation_are_nan_and_bad_input_is_refused():
    assert np.isnan(resampled([1, 2, 3], [5, 5, 5], 4)).all()
    assert np.isnan(resampled([1, 2, 3], [5, math.nan, 5], 4)).all()
    for gold, word in (([1, 2], "3 values for 2"), ([1, 2, math.inf], "gold")):
        with pytest.raises(InputError, match=word):
            resampled(gold, [1, 2, 3], 5)
