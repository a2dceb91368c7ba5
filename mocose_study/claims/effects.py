"""From runs to effects: how far two points lie apart, over seeds and over test pairs.

The *label* of a point stands for its runs, one per seed. Where a point draws nothing (its method is
untrained, or every seed gives the same average), its seeds say nothing of its error. Then the
choice of test pairs is a source of error, too: the variances add up, since the two are independent.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from mocose_lib import InputError

from .stats import Interval, interval, p_value, paired

RESAMPLED = "sts_avg"  # the metric whose values on resampled test pairs a run may carry
LAST = "sts_last"  # the same at the last step of training; what is not trained has none
DRAW_NOTHING = ("untrained", "whitening", "word_counts", "word_vectors")


@dataclass(frozen=True)
class Scores:
    """The runs of one point: its metric by seed, and by seed (draws,) on resampled test pairs."""

    by_seed: dict[int, float]
    by_pairs: dict[int, np.ndarray]
    fixed: bool = False  # draws nothing: one seed stands for all


@dataclass(frozen=True)
class Effect:
    """A difference between two points, in the unit of the metric.

    by_seed: (n,). by_pairs: its mean over seeds on each resample of the test pairs, (draws,), or
    nothing. fixed: how many of the two points draw nothing.
    """

    by_seed: np.ndarray
    by_pairs: np.ndarray
    fixed: int = 0

    mean = property(
        lambda self: float(self.by_seed.mean()) if len(self.by_seed) else np.nan
    )
    without_error = property(lambda self: self.fixed == 2 and not len(self.by_pairs))

    def errors(self) -> tuple[float, float]:
        """Standard errors of the mean from the seeds and from the test pairs; NaN if unknown."""
        n, draws = len(self.by_seed), len(self.by_pairs)
        seeds = self.by_seed.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
        return float(seeds), float(self.by_pairs.std(ddof=1)) if draws > 1 else np.nan

    def _error(self) -> tuple[float, float] | None:
        """Standard error and degrees of freedom (Satterthwaite) where the test pairs count, too."""
        seeds, pairs = self.errors()
        if self.fixed == 2:
            return pairs, np.inf
        if not self.fixed or np.isnan(pairs):
            return None
        both = seeds**2 + pairs**2
        return both**0.5, (len(self.by_seed) - 1) * both**2 / seeds**4

    def interval(self, level: float) -> Interval:
        """Over seeds; where a point draws nothing, over test pairs as well."""
        if not (found := self._error()):
            return interval(self.by_seed, level)
        half = stats.t.ppf((1 + level) / 2, found[1]) * found[0]
        return Interval(
            self.mean, self.mean - half, self.mean + half, len(self.by_seed)
        )

    def p(self, edge: float) -> float:
        """Two-sided p-value that the effect is `edge`, by the errors that `interval` knows."""
        if not (found := self._error()):
            return p_value(self.by_seed, edge)
        return float(2 * stats.t.sf(abs(self.mean - edge) / found[0], found[1]))


def scores(label: str, runs: pd.DataFrame, metric: str) -> Scores:
    """The runs with this label; {} and {} where there are none.

    Raises InputError where several runs have one seed.
    """
    if runs.empty:
        return Scores({}, {})
    found = runs[runs["label"] == label]
    if found["seed"].duplicated().any():
        raise InputError(
            f"{label} fits several runs of one seed; give them labels of their own"
        )
    fixed = all(
        map(draws_nothing, found.filter(["method", "encoder_init"]).to_dict("records"))
    )
    metric = RESAMPLED if metric == LAST and fixed else metric
    by_seed = dict(zip(found["seed"], found[metric].astype(float), strict=True))
    by_pairs = {}
    if metric == RESAMPLED and "resampled" in found:
        draws = zip(found["seed"], found["resampled"], strict=True)
        by_pairs = {
            seed: np.array(x, float) for seed, x in draws if isinstance(x, list)
        }
    equal = metric == RESAMPLED and len(by_seed) > 1 and len(set(by_seed.values())) == 1
    return Scores(by_seed, by_pairs, fixed or equal)


def draws_nothing(fields: Mapping) -> bool:
    """Whether one seed stands for all: nothing is trained, and no weight is drawn at random."""
    return (
        fields.get("method") in DRAW_NOTHING and fields.get("encoder_init") != "random"
    )


def difference(a: Scores, b: Scores) -> Effect:
    """a minus b, for each seed that both have; a point that draws nothing has every seed."""
    seeds = b.by_seed if a.fixed else a.by_seed

    def spread(values: dict, fixed: bool) -> dict:
        return (
            dict.fromkeys(seeds, next(iter(values.values())))
            if fixed and values
            else values
        )

    by_seed = paired(spread(a.by_seed, a.fixed), spread(b.by_seed, b.fixed))
    by_pairs = paired(spread(a.by_pairs, a.fixed), spread(b.by_pairs, b.fixed))
    by_pairs = by_pairs.mean(axis=0) if len(by_pairs) else by_pairs
    return Effect(by_seed, by_pairs, a.fixed + b.fixed)


def shown(effect: float) -> str:
    """An effect for people: two decimals, or the first digit that is not 0."""
    return (
        f"{effect + 0.0:+.2f}"
        if abs(effect) >= 0.005 or not effect
        else f"{effect:+.1g}"
    )
