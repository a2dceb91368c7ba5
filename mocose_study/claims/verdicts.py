"""What the papers claim, as data, and what our runs say to it.

A rule (`rules.py`) turns the runs of its points into effects, one per seed, and names the range
the effect lies in if the claim is true. The 95 % t interval of the mean effect decides:

    wholly inside the range -> supported      wholly outside -> not supported
    across an edge, or fewer than 5 seeds -> inconclusive      a point without runs -> no runs

Effects are in the unit of the metric: points (Spearman x 100) for the STS scores.
"""

import difflib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Real

import numpy as np
import pandas as pd

from mocose_study.config import InputError
from mocose_study.claims.rules import Below, Best, Better, Trend, name
from mocose_study.claims.stats import Interval, holm, interval, sign_flip

LEVEL = 0.95
SEEDS_NEEDED = 5
DECIDED = ("supported", "not supported")
TASK_ENDINGS = (" test", " test all")  # of metrics that hang on which tasks a profile has


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper and the rule that judges it; `metric` is a column of the runs."""

    id: str
    source: str  # "MoCoSE Table 3"
    text: str  # in our words
    rule: Better | Best | Below | Trend
    metric: str = "sts_avg"


@dataclass(frozen=True)
class Verdict:
    """The answer and the figures behind it.

    effect, low, high: the mean effect over `n` seeds and its interval at `level`; of several
    comparisons (Best) the deciding one. p: sign-flip test of the effect against the nearest edge
    of the rule's range; p_holm: corrected for the section. The interval decides, not p: with
    5 seeds p cannot fall below 0.0625. What could not be computed is NaN.
    """

    verdict: str
    reason: str
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    level: float = LEVEL
    p: float = math.nan
    p_holm: float = math.nan


def verdict(claim: Claim, runs: pd.DataFrame, metric: str | None = None) -> Verdict:
    """One claim on its own, at 95 %, without correction for others.

    `runs` has one row per run: config fields (with `seed`) and metrics as columns. `metric`
    replaces the claim's own. The score of a task that the runs' benchmark has not gives "no runs".
    Raises InputError for a field or other metric that is no column, and for a point that fits
    several runs of one seed.
    """
    found = _effects(claim, runs, metric or claim.metric)
    answer = _judge(claim, found, LEVEL)
    return replace(answer, p_holm=answer.p)


def verdicts(
    claims: Sequence[Claim], runs: pd.DataFrame, metric: str | None = None
) -> pd.DataFrame:
    """All claims of a section, Holm-corrected among each other: a DataFrame, one row per claim.

    Holm steps down from the interval level 1 - 0.05 / (claims): each claim decided there leaves
    a wider share of the 0.05 to the rest. Claims without runs count, so no verdict hangs on
    which runs are still to come. Raises InputError as `verdict` does, and for a repeated id.
    """
    ids = [claim.id for claim in claims]
    if twice := sorted({i for i in ids if ids.count(i) > 1}):
        raise InputError(f"several claims have the id {', '.join(twice)}")
    found = {c.id: _effects(c, runs, metric or c.metric) for c in claims}
    answers, undecided, before = {}, list(claims), math.inf
    while 0 < len(undecided) < before:
        before = len(undecided)
        level = 1 - (1 - LEVEL) / before
        answers |= {c.id: _judge(c, found[c.id], level) for c in undecided}
        undecided = [c for c in undecided if answers[c.id].verdict not in DECIDED]
    p_holm = holm([answers[i].p for i in ids])
    return pd.DataFrame(
        {"id": c.id, "source": c.source, "text": c.text, "rule": type(c.rule).__name__}
        | {"metric": metric or c.metric}
        | asdict(replace(answers[c.id], p_holm=float(adjusted)))
        for c, adjusted in zip(claims, p_holm, strict=True)
    )


def _effects(claim: Claim, runs: pd.DataFrame, metric: str) -> dict | Verdict:
    """{label: effect per seed}, or the verdict where the runs do not allow any."""
    points = list(claim.rule.points)
    if metric.endswith(TASK_ENDINGS) and len(runs) and metric not in runs:
        return Verdict("no runs", f"no run has {metric!r}: the benchmark has other tasks")
    scores = [_scores(point, runs, metric) for point in points]
    missing = [name(p) for p, s in zip(points, scores, strict=True) if not s]
    if missing:
        return Verdict("no runs", f"no runs for {'; '.join(missing)}")
    for point, by_seed in zip(points, scores, strict=True):
        lost = [seed for seed, score in by_seed.items() if not math.isfinite(score)]
        if lost:  # leaving these out would judge a point by the runs that went well
            return Verdict("inconclusive", f"{metric} is no number for {name(point)}, seeds {lost}")
    return claim.rule.effects(*scores)


def _scores(point: dict, runs: pd.DataFrame, metric: str) -> dict:
    """{seed: metric} of the runs that have the point's values."""
    if runs.empty:
        return {}
    for field in [*point, "seed", metric]:
        if field not in runs.columns:
            near = difflib.get_close_matches(field, map(str, runs.columns), 1, cutoff=0)[0]
            raise InputError(f"the runs have no column {field!r}; the nearest is {near!r}")
    fits = pd.Series(True, index=runs.index)
    for field, value in point.items():
        fits &= runs[field].map(lambda cell, value=value: _same(cell, value)).astype(bool)
    found = runs[fits]
    twice = found[found["seed"].duplicated(keep=False)]
    if len(twice):
        first = twice[twice["seed"] == twice["seed"].iloc[0]]
        differ = [c for c in first if c != metric and first[c].astype(str).nunique() > 1]
        raise InputError(
            f"{name(point)} fits {len(first)} runs of seed {first['seed'].iloc[0]}, which differ "
            f"in {', '.join(map(str, differ[:4])) or 'nothing'}: narrow the point or the runs"
        )
    return dict(zip(found["seed"], found[metric].astype(float), strict=True))


def _same(cell, value) -> bool:
    if value is None:
        return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))
    if isinstance(value, list | tuple):
        cell = cell.tolist() if isinstance(cell, np.ndarray) else cell
        same_length = isinstance(cell, list | tuple) and len(cell) == len(value)
        return same_length and all(map(_same, cell, value))
    if isinstance(value, Real) and isinstance(cell, Real):
        # relative, as an absolute tolerance would take an FGSM step of 1e-9 for one of 5e-9
        return bool(np.isclose(cell, value, rtol=1e-9, atol=0))
    return cell is not pd.NA and bool(cell == value)


def _judge(claim: Claim, found: dict | Verdict, level: float) -> Verdict:
    """The three-way answer at an interval level; several effects are rivals of one point."""
    if isinstance(found, Verdict):
        return replace(found, level=level)
    edges = claim.rule.inside
    intervals = {label: interval(x, level) for label, x in found.items()}
    label = min(found, key=lambda k: intervals[k].low)  # the rival that comes closest
    fewest = min(found, key=lambda k: len(found[k]))
    stricter = 1 - (1 - level) / len(found)
    refuting = {k: x for k, x in found.items() if _outside(interval(x, stricter), edges)}
    if len(found[fewest]) < SEEDS_NEEDED:
        word, label = "inconclusive", fewest
    elif all(edges[0] < x.low and x.high < edges[1] for x in intervals.values()):
        word = "supported"
    elif refuting:
        word, level = "not supported", stricter
        intervals = {k: interval(x, level) for k, x in refuting.items()}
        label = min(intervals, key=lambda k: intervals[k].high)  # the rival that wins by most
    else:
        word = "inconclusive"
    x = intervals[label]
    reason = _reason(word, label, x, edges, level, len(found))
    return Verdict(word, reason, x.mean, x.low, x.high, x.n, level, _p(found, edges))


def _outside(x: Interval, edges: tuple) -> bool:
    return x.high <= edges[0] or x.low >= edges[1]


def _p(found: dict, edges: tuple) -> float:
    """Sign-flip p against the nearest edge: the worst rival's or, if one wins, its corrected p."""
    if not all(map(len, found.values())):
        return math.nan
    p_inside, p_outside = [], []
    for x in found.values():
        edge = min(edges, key=lambda end: abs(x.mean() - end))
        side = p_inside if edges[0] < x.mean() < edges[1] else p_outside
        side.append(sign_flip(x - edge))
    return min(1.0, len(found) * min(p_outside)) if p_outside else max(p_inside)


def _reason(word: str, label: str, x: Interval, edges: tuple, level: float, rivals: int) -> str:
    if x.n < SEEDS_NEEDED:
        return f"{label}: n = {x.n} seeds, {SEEDS_NEEDED} are needed"
    low, high = edges
    place = f"between {low:g} and {high:g}"
    if math.isinf(high - low):
        place = f"above {low:g}" if math.isinf(high) else f"below {high:g}"
    part = {"supported": "all", "not supported": "no part", "inconclusive": "only part"}[word]
    closest = f" (the closest of {rivals} rivals)" if rivals > 1 and word == "supported" else ""
    return (
        f"{label}{closest}: {x.mean:.4g}, {100 * level:.4g} % interval {x.low:.4g} to "
        f"{x.high:.4g}, n = {x.n} seeds; {part} of the interval lies {place}"
    )
