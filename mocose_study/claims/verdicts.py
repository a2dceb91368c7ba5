"""What our runs say to the papers' claims: supported, contradicted, or open.

A claim compares point a with one or more points b, by a metric of the runs:

    better      a - b lies above the margin. One below zero: a is not worse by more.
    equivalent  a - b lies within the margin, either way.
    best        no b is ahead of a by more than the margin.

*supported*: the whole interval lies on the claim's side of the margin.
*contradicted*: the whole interval lies on the other side of zero (of a margin below
zero, on the other side of it; of an equivalence, beyond the margin).
*open*: neither, or fewer than five seeds. Where the whole interval lies below a margin
above zero, the reason says so. *no runs*: a point has none.

Intervals are at 95 %, corrected by Holm for the claims of a section, which is a table
of a paper. Holm steps down: each claim that is decided leaves more to the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from mocose_lib import InputError

from .stats import LEVEL, Interval, Scores, difference, with_power

SEEDS_NEEDED = 5
WORDS = ("supported", "contradicted", "open", "no runs")
SUPPORTED, CONTRADICTED, OPEN, NO_RUNS = WORDS
STREAMS = ("method", "encoder", "corpus", "batch_size", "encoder_init")


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper, and the rule that judges it.

    source, table, also: where it stands, as "MoCoSE", "Table 3", "section 5.1". metric:
    a column of the runs. paper: the paper's a - b (of best, the distance of the nearest
    b), if it prints it. mended: what was wrong with the rule, if it was changed when
    its runs were there.
    """

    id: str
    source: str
    table: str
    also: str
    text: str
    rule: Literal["better", "equivalent", "best"]
    a: str
    b: tuple[str, ...]
    margin: float = 0.0
    metric: str = "sts_avg"
    paper: float = math.nan
    mended: str = ""

    def __post_init__(self):
        if self.rule not in ("better", "equivalent", "best"):
            raise InputError(f"claim {self.id}: there is no rule {self.rule!r}.")
        if self.rule != "better" and not self.margin >= 0:
            what = f"{self.rule} needs a margin of 0 or more"
            raise InputError(f"claim {self.id}: {what}.")
        if not self.b or (self.rule != "best" and len(self.b) > 1):
            raise InputError(f"claim {self.id}: {self.rule} has {len(self.b)} rivals.")


@dataclass(frozen=True)
class Verdict:
    """The word, the deciding effect with its interval, and the least one that shows.

    smallest: four of five such studies would decide for a true effect as large as this.
    """

    word: str
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    smallest: float = math.nan
    reason: str = ""


def verdicts(claims: Sequence[Claim], runs: pd.DataFrame) -> dict[str, Verdict]:
    """The verdict of each claim of a section, by id.

    `runs` has one row per run: label, seed, fixed, columns of `STREAMS`, metrics.
    Raises InputError where a point has two runs of a seed.
    """
    judged: dict[str, Verdict] = {}
    undecided, before = list(claims), math.inf
    while 0 < len(undecided) < before:
        before = len(undecided)
        level = 1 - (1 - LEVEL) / before
        judged |= {claim.id: judge(claim, runs, level) for claim in undecided}
        decided = (SUPPORTED, CONTRADICTED)
        undecided = [c for c in undecided if judged[c.id].word not in decided]
    return judged


def judge(claim: Claim, runs: pd.DataFrame, level: float = LEVEL) -> Verdict:
    """The verdict on one claim, by intervals at a level."""
    sides = {label: scores(runs, label, claim.metric) for label in (claim.a, *claim.b)}
    if missing := [label for label, side in sides.items() if not side.by_seed]:
        return Verdict(NO_RUNS, reason=f"no runs of {', '.join(missing)}")
    for label, side in sides.items():
        if lost := [s for s, x in side.by_seed.items() if not math.isfinite(x)]:
            reason = f"{claim.metric} is no number for {label}, seeds {lost}"
            return Verdict(OPEN, reason=reason)
    a = sides[claim.a]
    effects = {label: difference(a, sides[label], level) for label in claim.b}
    nearest = min(effects, key=lambda label: effects[label].mean)
    drawn = [effects[b].n for b in claim.b if not (a.fixed and sides[b].fixed)]
    if (n := min(drawn, default=SEEDS_NEEDED)) < SEEDS_NEEDED:
        word, reason = OPEN, f"{n} of {SEEDS_NEEDED} seeds"
    else:
        stricter = 1 - (1 - level) / len(claim.b)
        strict = {label: difference(a, sides[label], stricter) for label in claim.b}
        word = _word(claim, list(effects.values()), list(strict.values()))
        if word == CONTRADICTED and claim.rule == "best":  # the rival that decides it
            effects, level = strict, stricter
            nearest = min(strict, key=lambda label: strict[label].high)
        reason = f"best rival: {nearest}" if len(claim.b) > 1 else ""
        below = effects[nearest].high < claim.margin
        if claim.rule == "better" and word == OPEN and below:
            reason = f"below the margin of {claim.margin:g}"
    x = effects[nearest]
    smallest = max(claim.margin, 0) + x.half * with_power(x.n, level)
    return Verdict(word, x.mean, x.low, x.high, x.n, smallest, reason)


def _word(claim: Claim, effects: list[Interval], strict: list[Interval]) -> str:
    """`strict`: the same effects, at a level corrected for the number of rivals.

    For a to be best every rival must be behind, which needs no correction. That one of
    many is ahead may be luck.
    """
    margin = claim.margin
    if claim.rule == "equivalent":
        (x,) = effects
        if -margin < x.low and x.high < margin:
            return SUPPORTED
        return CONTRADICTED if x.low > margin or x.high < -margin else OPEN
    edge = -margin if claim.rule == "best" else margin
    if all(x.low > edge for x in effects):
        return SUPPORTED
    beyond = 0 if claim.rule == "best" else min(0, margin)
    return CONTRADICTED if any(x.high < beyond for x in strict) else OPEN


def scores(runs: pd.DataFrame, label: str, metric: str) -> Scores:
    """A metric of the runs with this label, by seed."""
    own = runs[runs["label"] == label] if len(runs) else runs
    if own.empty or metric not in own:
        return Scores({})
    if own["seed"].duplicated().any():
        raise InputError(f"{label} has several runs of one seed; give other labels.")
    by_seed = dict(zip(own["seed"], own[metric].astype(float), strict=True))
    streams = tuple(map(str, own.iloc[0].reindex(STREAMS)))
    return Scores(by_seed, streams, bool(own["fixed"].all()))


def has_range(control: Claim | None, runs: pd.DataFrame) -> str:
    """Why a section has no range; empty where the harm that everybody knows shows."""
    if control is None:
        return ""
    verdict = judge(control, runs)
    if verdict.word == SUPPORTED:
        return ""
    if verdict.word == NO_RUNS:
        return "the known harm has no runs"
    size = f"{verdict.effect:.1f} [{verdict.low:.1f}, {verdict.high:.1f}]"
    known = f"{control.a} against {control.b[0]}, {size}"
    return f"a known difference is too small here: {known}"
