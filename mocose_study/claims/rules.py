"""Rules by which a claim is judged: which points are compared, and where the effect should lie.

A rule has `pairs`, the points (a, b) whose difference a - b is an effect, and `inside`, the range
in which every effect lies if the claim is true. A point is named by its label.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mocose_lib import InputError


@dataclass(frozen=True)
class Better:
    """a beats b by more than `margin`: the smallest difference that matters."""

    a: str
    b: str
    margin: float = 0.0

    pairs = property(lambda self: [(self.a, self.b)])
    inside = property(lambda self: (self.margin, math.inf))


@dataclass(frozen=True)
class Equivalent(Better):
    """a and b differ by less than `margin` either way."""

    inside = property(lambda self: (-self.margin, self.margin))

    def __post_init__(self):
        if not self.margin > 0:
            raise InputError(f"Equivalent needs a margin above 0, got {self.margin}")


@dataclass(frozen=True)
class Size:
    """a beats b by at least half of what the paper reports, `paper` points.

    This one rule judges every sentence with a size ("some twenty points"): supported where the
    whole interval lies above half the paper's effect, not supported where it lies wholly below.
    """

    a: str
    b: str
    paper: float

    pairs = property(lambda self: [(self.a, self.b)])
    inside = property(lambda self: (self.paper / 2, math.inf))

    def __post_init__(self):
        if not self.paper > 0:
            raise InputError(
                f"Size needs the paper's effect of a over b above 0, got {self.paper}"
            )


@dataclass(frozen=True)
class Best:
    """`point` beats each point of `among` (itself apart).

    Supported if it beats every rival, each at the full level: an intersection of claims needs no
    correction. Refuted by any one rival, and since each had its chance to do so by luck, at a
    level corrected for their number. With a `margin`, rivals that all lie within it either way
    are alike, and the claim is not supported (two one-sided tests for each rival).
    """

    point: str
    among: Sequence[str]
    margin: float = 0.0

    pairs = property(
        lambda self: [(self.point, p) for p in self.among if p != self.point]
    )
    inside = property(lambda self: (0.0, math.inf))

    def __post_init__(self):
        if not self.pairs:
            raise InputError(f"Best names no rival of {self.point}")
        if self.margin < 0:
            raise InputError(f"Best needs a margin of 0 or more, got {self.margin}")


Rule = Better | Equivalent | Size | Best
