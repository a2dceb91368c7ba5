"""Intervals against values by hand."""

import math

import pytest
from scipy import stats

from mocose_study.claims.stats import Interval, Scores, difference, interval


def scores(values, streams=("mocose",), fixed=False, first=0) -> Scores:
    return Scores(dict(enumerate(values, first)), streams, fixed)


def ends(x: Interval) -> tuple[float, float, float]:
    return x.mean, x.low, x.high


def test_students_interval_by_hand():
    # 1 2 3 4 5: mean 3, variance 2.5, standard error sqrt(0.5), t(0.975, 4) = 2.776445
    x = interval([1, 2, 3, 4, 5])
    half = 2.776445 * math.sqrt(0.5)
    assert ends(x) == pytest.approx((3, 3 - half, 3 + half), abs=1e-5)
    assert x.n == 5 and x.half == pytest.approx(half, abs=1e-5)


def test_one_value_says_nothing_of_its_error():
    one, none = interval([70.5]), interval([])
    assert (one.mean, one.n) == (70.5, 1) and math.isnan(one.low + one.high)
    assert math.isnan(none.mean + none.low) and none.n == 0
    assert interval([0.5] * 6) == Interval(0.5, 0.5, 0.5, 6)


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_what_shares_its_streams_is_paired_by_seed(level):
    x = difference(scores([3, 5, 9]), scores([2, 3, 5, 99.0]), level)
    assert x == interval([1, 2, 4], level)  # seed 3 has no partner


def test_what_does_not_is_compared_by_welch():
    # 1 2 3 and 2 4 6: errors 1/3 + 4/3; 2.941 degrees of freedom, t = 3.219
    x = difference(scores([1, 2, 3]), scores([2, 4, 6], ("simcse",)))
    half = stats.t.ppf(0.975, (5 / 3) ** 2 / (1 / 18 + 16 / 18)) * math.sqrt(5 / 3)
    assert ends(x) == pytest.approx((-2, -2 - half, -2 + half)) and x.n == 3
    wider = difference(scores([1, 2, 3]), scores([2, 4, 6], ("simcse",)), 0.99)
    assert wider.half > x.half


def test_a_fixed_side_is_a_constant():
    moving, fixed = scores([71, 72, 73]), scores([70.0], ("whitening",), fixed=True)
    assert difference(moving, fixed) == interval([1, 2, 3])
    assert difference(fixed, moving) == interval([-1, -2, -3])
    other = scores([67.0], ("untrained",), fixed=True)
    assert difference(fixed, other) == Interval(3, 3, 3, 1)


def test_a_side_without_runs_or_error_is_no_crash():
    assert difference(scores([]), scores([1.0])).n == 0
    apart = difference(scores([1.0], first=0), scores([1.0], first=9))
    assert apart.n == 0 and math.isnan(apart.mean)  # paired, and no seed in common
    one = difference(scores([3.0]), scores([1.0], ("simcse",)))
    assert (one.mean, one.n) == (2, 1) and math.isnan(one.low + one.high)
    level = difference(scores([3.0] * 5), scores([1.0] * 5, ("simcse",)))
    assert level == Interval(2, 2, 2, 5)
