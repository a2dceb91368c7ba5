"""Intervals and tests: how sure a mean over seeds, or a difference between systems, is.

Two things make a score vary: the seed of the training run and the choice of test pairs.
`interval` and `p_value` deal with the first, `resampled` with the second.
Scores and differences are in points, Spearman correlation x 100, unless said otherwise.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from mocose_lib import InputError

BLOCK = 1_000_000  # resampled pairs held in memory at once


@dataclass(frozen=True)
class Interval:
    """A mean (or difference) with the ends of its confidence interval; `n` is what was averaged."""

    mean: float
    low: float
    high: float
    n: int


def _numbers(values, name: str = "values") -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(
            f"{name} must be a flat list of finite numbers, got {values!r:.80}"
        )
    return array


def interval(values, level: float = 0.95) -> Interval:
    """Student's confidence interval of the mean of one score per seed, in the unit of `values`.

    One value gives NaN ends, no value NaN throughout, equal values an interval of no width.
    Raises InputError for values that are not finite and a level outside 0 to 1.
    """
    x = _numbers(values)
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, got {level}")
    if len(x) < 2:
        return Interval(float(x[0]) if len(x) else np.nan, np.nan, np.nan, len(x))
    if np.ptp(x) == 0:  # rounding in the mean would leave a width of 1e-16
        return Interval(float(x[0]), float(x[0]), float(x[0]), len(x))
    half = (
        special.stdtrit(len(x) - 1, (1 + level) / 2) * x.std(ddof=1) / np.sqrt(len(x))
    )
    return Interval(*map(float, (x.mean(), x.mean() - half, x.mean() + half)), len(x))


def p_value(values, edge: float = 0.0) -> float:
    """Two-sided p-value of the t test that the mean is `edge`: below 0.05 where the 95 % interval
    of `interval` excludes `edge`. NaN for fewer than two values."""
    x = _numbers(values)
    if len(x) < 2:
        return np.nan
    if np.ptp(x) == 0:
        return float(x[0] == edge)
    t = (x.mean() - edge) / (x.std(ddof=1) / np.sqrt(len(x)))
    return float(2 * special.stdtr(len(x) - 1, -abs(t)))


def holm(p_values) -> np.ndarray:
    """Holm's adjusted p-values, in the order given.

    NaN stands for a comparison that was planned but not made: it counts in the family and stays
    NaN, so that a p-value does not depend on which of the others has been run already.
    Raises InputError for p-values outside 0 to 1.
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or ((p < 0) | (p > 1)).any():
        raise InputError(
            f"p_values must be a flat list of numbers from 0 to 1, got {p_values!r}"
        )
    order = np.argsort(p)  # NaN goes last
    adjusted = np.empty_like(p)
    scaled = (len(p) - np.arange(len(p))) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return adjusted


def benjamini_hochberg(p_values) -> np.ndarray:
    """Benjamini and Hochberg's adjusted p-values, in the order given; NaN stays NaN, uncounted."""
    p = np.array(p_values, dtype=float)
    there = ~np.isnan(p)
    if there.any():
        p[there] = stats.false_discovery_control(p[there])
    return p


def paired(a: Mapping, b: Mapping) -> np.ndarray:
    """Differences a - b of scores, or of arrays of one shape, for each seed that both have."""
    return np.array([a[seed] - b[seed] for seed in a if seed in b], dtype=float)


def resampled(gold, scores, n: int, seed: int = 0) -> np.ndarray:
    """Spearman x 100 on `n` bootstrap resamples of the sentence pairs: (n,).

    `gold` and `scores` hold one number a pair. Which pairs are drawn depends on `seed` and their
    number alone, so that the differences of two systems' values are a paired bootstrap. NaN where
    a correlation is undefined: scores not finite, or all of a resample equal.
    Raises InputError for different lengths and gold scores that are not finite.
    """
    gold, scores = _numbers(gold, "gold"), np.asarray(scores, dtype=float)
    pairs = len(gold)
    if len(scores) != pairs:
        raise InputError(f"scores has {len(scores)} values for {pairs} gold scores")
    if not np.isfinite(scores).all():
        return np.full(n, np.nan)
    rng = np.random.default_rng(seed)
    rows = max(1, BLOCK // pairs)
    found = []
    for start in range(0, n, rows):
        index = rng.integers(0, pairs, size=(min(rows, n - start), pairs))
        ranks = [stats.rankdata(values[index], axis=1) for values in (gold, scores)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.ConstantInputWarning)
            found.append(100 * stats.pearsonr(*ranks, axis=1).statistic)
    return np.concatenate(found)
