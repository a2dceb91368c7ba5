"""Rules by which a claim is judged: from points to effects, and where the effect should lie.

A *point* is a dict of config fields, {"ema_decay": 0.85}; it stands for the runs that have these
values, one per seed. A rule has `points`, `effects`, which turns {seed: score} of each point into
effects by label, one per seed, and `inside`, the range of the mean effect if the claim is true.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy import stats

from mocose_study.config import InputError
from mocose_study.claims.stats import paired


def name(point: dict) -> str:
    """The point as text: "ema_decay=0.85, queue_size=512", or its label."""
    if set(point) == {"label"}:
        return point["label"]
    return ", ".join(f"{field}={value}" for field, value in point.items())


@dataclass(frozen=True)
class Better:
    """a beats b, paired by seed, by more than `margin`: the smallest difference that matters."""

    a: dict
    b: dict
    margin: float = 0.0

    points = property(lambda self: [self.a, self.b])
    inside = property(lambda self: (self.margin, math.inf))

    def effects(self, a: dict, b: dict) -> dict:
        return {f"{name(self.a)} minus {name(self.b)}": paired(a, b)}


@dataclass(frozen=True)
class Equivalent(Better):
    """a and b differ, paired by seed, by less than `margin` either way."""

    inside = property(lambda self: (-self.margin, self.margin))

    def __post_init__(self):
        if not self.margin > 0:
            raise InputError(f"Equivalent needs a margin above 0, got {self.margin}")


@dataclass(frozen=True)
class Best:
    """`point` beats each point of `among` (itself apart) by more than `margin`.

    Supported if it beats every rival, each at the full level: an intersection of claims needs no
    correction. Refuted by any one rival, and since each had its chance to do so by luck, at a
    level corrected for their number. With margin -0.5: "nothing is better by 0.5 or more".
    """

    point: dict
    among: Sequence[dict]
    margin: float = 0.0

    rivals = property(lambda self: [p for p in self.among if p != self.point])
    points = property(lambda self: [self.point, *self.rivals])
    inside = property(lambda self: (self.margin, math.inf))

    def __post_init__(self):
        if not self.rivals:
            raise InputError(f"Best names no rival of {name(self.point)}")

    def effects(self, best: dict, *rivals: dict) -> dict:
        return {
            f"{name(self.point)} minus {name(p)}": paired(best, rival)
            for p, rival in zip(self.rivals, rivals, strict=True)
        }


@dataclass(frozen=True)
class Below:
    """The mean of `point` lies below `threshold`, as after a collapse."""

    point: dict
    threshold: float

    points = property(lambda self: [self.point])
    inside = property(lambda self: (-math.inf, self.threshold))

    def effects(self, scores: dict) -> dict:
        return {name(self.point): np.array(list(scores.values()))}


@dataclass(frozen=True)
class Above(Below):
    """The mean of `point` lies above `threshold`."""

    inside = property(lambda self: (self.threshold, math.inf))


@dataclass(frozen=True)
class Trend:
    """The metric rises (`sign` 1) or falls (-1) along `field` over `points`, seed by seed.

    The effect is the mean over seeds of the Spearman correlation (-1 to 1) of field and metric.
    """

    field: str
    points: Sequence[dict]
    sign: int

    inside = property(lambda self: (0, math.inf) if self.sign > 0 else (-math.inf, 0))

    def __post_init__(self):
        values = [p.get(self.field) for p in self.points]
        if not all(isinstance(v, Real) for v in values) or len(set(values)) < 3:
            raise InputError(f"Trend needs three different numbers of {self.field}, got {values}")
        if self.sign not in (1, -1):
            raise InputError(f"Trend needs the sign 1 or -1, got {self.sign}")

    def effects(self, *scores: dict) -> dict:
        x = [p[self.field] for p in self.points]
        seeds = [s for s in scores[0] if all(s in other for other in scores)]
        rhos = [_rho(x, [other[s] for other in scores]) for s in seeds]
        return {f"Spearman correlation with {self.field}": np.array(rhos)}


def _rho(x: list, y: list) -> float:
    # a metric that is the same everywhere has no correlation, and shows no trend
    return float(stats.spearmanr(x, y).statistic) if np.ptp(y) > 0 else 0.0
