"""Intervals of means and of differences over seeds, at any level.

Scores and differences are in points, Spearman correlation x 100, unless said otherwise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL, POWER = 0.95, 0.8


@dataclass(frozen=True)
class Interval:
    """A mean, or a difference of means, and the ends of its confidence interval.

    n: the seeds that it comes from; of two sides, the smaller number.
    """

    mean: float
    low: float
    high: float
    n: int

    half = property(lambda self: (self.high - self.low) / 2)


def interval(values, level: float = LEVEL) -> Interval:
    """Student's interval of the mean of values, (n,); without ends for n = 1."""
    x = np.asarray(values, dtype=float)
    n = len(x)
    if n < 2:
        mean = float(x.mean()) if n else math.nan
        return Interval(mean, math.nan, math.nan, n)
    half = stats.t.ppf((1 + level) / 2, n - 1) * x.std(ddof=1) / math.sqrt(n)
    return Interval(float(x.mean()), float(x.mean() - half), float(x.mean() + half), n)


def with_power(n: int, level: float = LEVEL) -> float:
    """How many half-widths of an interval an effect needs to be seen with `POWER`.

    That is about 1.4 for ten seeds. One half-width is seen in every second study.
    """
    usual = stats.t.ppf((1 + level) / 2, n - 1)
    return float(1 + stats.t.ppf(POWER, n - 1) / usual) if n > 1 else 1.0


@dataclass(frozen=True)
class Scores:
    """A metric of one point by seed. streams: what its random numbers depend on."""

    by_seed: Mapping[int, float]
    streams: tuple = ()
    fixed: bool = False  # it draws nothing, so that one value stands for every seed


def difference(a: Scores, b: Scores, level: float = LEVEL) -> Interval:
    """a - b: paired by seed where both share their random streams, else Welch's.

    A fixed side is a constant. Where both are fixed, the difference has no error.
    """
    x, y = (np.array(list(side.by_seed.values()), dtype=float) for side in (a, b))
    if not len(x) or not len(y):
        return Interval(math.nan, math.nan, math.nan, 0)
    if a.fixed and b.fixed:
        gap = float(x[0] - y[0])
        return Interval(gap, gap, gap, 1)
    if a.fixed or b.fixed:
        return interval(x - y[0] if b.fixed else x[0] - y, level)
    if a.streams == b.streams:
        shared = [seed for seed in a.by_seed if seed in b.by_seed]
        return interval([a.by_seed[s] - b.by_seed[s] for s in shared], level)
    n = min(len(x), len(y))
    gap = float(x.mean() - y.mean())
    if n < 2:
        return Interval(gap, math.nan, math.nan, n)
    if x.std() == y.std() == 0:
        return Interval(gap, gap, gap, n)
    ends = stats.ttest_ind(x, y, equal_var=False).confidence_interval(level)
    return Interval(gap, float(ends.low), float(ends.high), n)
