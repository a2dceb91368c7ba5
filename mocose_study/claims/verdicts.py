"""What the papers claim, as data, and what our runs say to it.

The interval of an effect at 95 %, corrected by Holm for the claims of its section, decides:
wholly inside the range of the rule -> *supported*; wholly outside -> *not supported*; across an
edge, or fewer than 5 seeds of claim or control -> *inconclusive*; no runs of a point -> *no runs*.

*Not testable here* replaces these words
- if the section's positive control, a rule known to hold, is not supported on the same runs;
- if the interval crosses an edge of the range and its half-width exceeds the paper's effect (of
  an equivalence: its margin), so that these runs could not have seen it;
- if the claim is decided by a rival whose STS average lies below its own start (95 %);
- if both points draw nothing and their error over test pairs is unknown.

Effects are in the unit of the metric: points (Spearman x 100) for the STS scores.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from mocose_lib import InputError

from .effects import LAST, RESAMPLED, Effect, difference, scores, shown
from .rules import Best, Better, Equivalent, Rule
from .stats import holm

LEVEL = 0.95
SEEDS_NEEDED = 5
UNTESTABLE = "not testable here"
DECIDED = ("supported", "not supported")
WORDS = (UNTESTABLE, *DECIDED, "inconclusive", "no runs")
COLUMNS = "id source text rule metric verdict effect low high n level p p_holm paper reason".split()
ALIKE = "all alike"
PART = {"not supported": "no part", "inconclusive": "only part"}  # else all


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper and the rule that judges it; `metric` is a column of the runs."""

    id: str
    source: str  # "MoCoSE Table 3"
    text: str  # in our words
    rule: Rule
    metric: str = "sts_avg"
    effect: float | None = None  # what the paper reports, in points


@dataclass(frozen=True)
class Verdict:
    """The answer and the figures behind it.

    effect, low, high: the mean effect over `n` seeds and its interval at `level`; of several
    comparisons (Best) the deciding one. p: t test of the effect against the nearest edge of the
    rule's range. What could not be computed is NaN.
    """

    verdict: str
    reason: str
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    level: float = LEVEL
    p: float = math.nan


Found = (
    dict[str, Effect] | Verdict
)  # effects by label, or the verdict where there are none


def verdicts(
    claims: Sequence[Claim],
    runs: pd.DataFrame,
    control: Rule | None = None,
    starts=None,
) -> pd.DataFrame:
    """All claims of a section, Holm-corrected among each other: a DataFrame, one row per claim.

    p_holm: its p, corrected for the section; the other columns are those of Claim and Verdict.

    `runs` has one row per run: label, seed and metrics as columns; `resampled` may hold the average
    on resampled test pairs, a list aligned between runs. `control` is judged at the last step of
    training where the runs have it (`sts_last`). `starts` names by a rival's label the point that
    it started from: a rival below its start decides nothing by losing.
    Raises InputError for a repeated id, and for a label with several runs of a seed.
    """
    ids = [claim.id for claim in claims]
    if twice := sorted({i for i in ids if ids.count(i) > 1}):
        raise InputError(f"several claims have the id {', '.join(twice)}")
    last = LAST if LAST in runs else RESAMPLED
    harm = judge(control, effects(control.pairs, runs, last)) if control else None
    found = {c.id: effects(c.rule.pairs, runs, c.metric) for c in claims}
    answers = decide(claims, found, harm)
    rows = []
    for claim in claims:
        answer = _with_working_rival(claim, answers[claim.id], runs, starts or {})
        paper = math.nan if claim.effect is None else claim.effect
        more = {"rule": type(claim.rule).__name__, "paper": paper}
        rows.append(vars(claim) | vars(answer) | more)
    return pd.DataFrame(rows).assign(p_holm=lambda table: holm(table["p"]))[COLUMNS]


def effects(pairs: list[tuple[str, str]], runs: pd.DataFrame, metric: str) -> Found:
    """{label: effect} of each pair, or the verdict where the runs do not allow any."""
    if len(runs) and metric not in runs:
        return Verdict("no runs", f"no run has the score {metric!r}")
    found = {label: scores(label, runs, metric) for pair in pairs for label in pair}
    if missing := [point for point, s in found.items() if not s.by_seed]:
        return Verdict("no runs", f"no runs for {'; '.join(missing)}")
    for point, s in found.items():
        lost = [seed for seed, score in s.by_seed.items() if not math.isfinite(score)]
        if lost:  # leaving these out would judge a point by the runs that went well
            return Verdict(
                "inconclusive", f"{metric} is no number for {point}, seeds {lost}"
            )
    return {f"“{a}” against “{b}”": difference(found[a], found[b]) for a, b in pairs}


def decide(
    claims: Sequence[Claim], found: dict[str, Found], control: Verdict | None = None
) -> dict[str, Verdict]:
    """The verdict of every claim from its effects, by id; rivals' starts are not looked at.

    Holm steps down from the interval level 1 - 0.05 / (claims): each claim decided there leaves
    a wider share of the 0.05 to the rest. Claims without runs count, so no verdict hangs on
    which runs are still to come.
    """
    answers, undecided, before = {}, list(claims), math.inf
    while 0 < len(undecided) < before:
        before = len(undecided)
        level = 1 - (1 - LEVEL) / before
        answers |= {c.id: judge(c.rule, found[c.id], level) for c in undecided}
        undecided = [c for c in undecided if answers[c.id].verdict not in DECIDED]
    return {c.id: _testable(c, answers[c.id], control) for c in claims}


def _testable(claim: Claim, answer: Verdict, control: Verdict | None) -> Verdict:
    """The answer, or "not testable here": for the control, or for the width of the interval."""
    if answer.verdict == "no runs":
        return answer
    if control and control.verdict != "supported":
        few = control.n < SEEDS_NEEDED
        why = "has too few seeds" if few else "does not show"
        reason = f"the section's positive control {why}: {control.reason}"
        return replace(
            answer, verdict="inconclusive" if few else UNTESTABLE, reason=reason
        )
    equivalence = isinstance(claim.rule, Equivalent)
    sought = claim.rule.margin if equivalence else claim.effect
    half = (answer.high - answer.low) / 2
    crosses = any(answer.low <= edge <= answer.high for edge in claim.rule.inside)
    word, reason = answer.verdict, answer.reason
    if (
        sought is not None
        and crosses
        and answer.n >= SEEDS_NEEDED
        and half > abs(sought)
    ):
        what = "the margin" if equivalence else "the paper's effect"
        word = UNTESTABLE
        reason += (
            f"; half of the interval, {half:.2g}, exceeds {what}, {abs(sought):.2g}"
        )
    # a direction left open may still rule out the paper's size
    direction = (
        type(claim.rule) is Better and claim.effect is not None and word not in DECIDED
    )
    if direction and answer.high < abs(claim.effect):
        reason += (
            f"; all of the interval lies below the paper's {abs(claim.effect):.3g}"
        )
    return replace(answer, verdict=word, reason=reason)


def _with_working_rival(
    claim: Claim, answer: Verdict, runs: pd.DataFrame, starts
) -> Verdict:
    """The answer, with its reason, if a rival scores below the point that it started from.

    Such a rival is another system: `b` that is beaten, or `a` that does not win. A setting of one
    system that is worse than another is harm, which counts.
    """
    sides = [getattr(claim.rule, side, None) for side in ("a", "b")]
    if "method" in runs and runs[runs["label"].isin(sides)]["method"].nunique() < 2:
        return answer
    for side, word in (("b", "supported"), ("a", "not supported")):
        rival = getattr(claim.rule, side, None)
        start = starts.get(rival)
        if answer.verdict == "no runs" or not start or start in sides:
            continue
        found = effects(
            [(rival, start)], runs, LAST if claim.metric == LAST else RESAMPLED
        )
        if isinstance(found, Verdict):
            return replace(answer, verdict=found.verdict, reason=found.reason)
        x = next(iter(found.values())).interval(LEVEL)
        if x.high < 0:
            told = f"“{rival}” is no fair rival: it lies {-x.mean:.2g} below its start, “{start}”"
            verdict = UNTESTABLE if answer.verdict == word else answer.verdict
            answer = replace(answer, verdict=verdict, reason=f"{told}; {answer.reason}")
    return answer


def judge(rule: Rule, found: Found, level: float = LEVEL) -> Verdict:
    """The answer of the intervals at a level; several effects are rivals of one point."""
    if isinstance(found, Verdict):
        return replace(found, level=level)
    label = next((k for k, e in found.items() if e.without_error), None)
    if label:
        reason = f"{label}: neither draws anything, and no test pairs were resampled"
        return Verdict(
            UNTESTABLE, reason, found[label].mean, n=len(found[label].by_seed)
        )
    seeds = {k: len(e.by_seed) for k, e in found.items() if e.fixed < 2}
    label, edges = min(seeds, key=seeds.get, default=""), rule.inside
    if label and seeds[label] < SEEDS_NEEDED:
        word = "inconclusive"
        reason = f"{label}: {seeds[label]} seeds, {SEEDS_NEEDED} are needed"
    else:
        word, label, level = _answer(rule, found, level)
        if word == ALIKE:
            edges = -rule.margin, rule.margin
        reason = _reason(word, label, edges, level, found)
    x = found[label].interval(level)
    word = "not supported" if word == ALIKE else word
    return Verdict(word, reason, x.mean, x.low, x.high, x.n, level, _p(found, edges))


def _answer(
    rule: Rule, found: dict[str, Effect], level: float
) -> tuple[str, str, float]:
    """The word, the label of the effect that decided it, and the level of its interval."""
    low, high = rule.inside
    intervals = {k: e.interval(level) for k, e in found.items()}
    closest = min(found, key=lambda k: intervals[k].low)
    if all(low < x.low and x.high < high for x in intervals.values()):
        return "supported", closest, level
    stricter = 1 - (1 - level) / len(found)
    ends = {k: e.interval(stricter) for k, e in found.items()}
    if refuting := [k for k, x in ends.items() if x.high <= low or x.low >= high]:
        return "not supported", min(refuting, key=lambda k: ends[k].high), stricter
    if isinstance(rule, Best) and all(
        max(-x.low, x.high) < rule.margin for x in intervals.values()
    ):
        return ALIKE, closest, level
    outside = intervals[closest].high <= low or intervals[closest].low >= high
    return (
        "inconclusive",
        closest,
        stricter if outside else level,
    )  # the one that left it open


def _p(found: dict[str, Effect], edges: tuple[float, float]) -> float:
    """p against the nearest edge: the worst rival's or, if one wins, its corrected p."""
    inside, outside = [], []
    for effect in found.values():
        edge = min(edges, key=lambda end: abs(effect.mean - end))
        within = edges[0] < effect.mean < edges[1]
        (inside if within else outside).append(effect.p(edge))
    return min(1.0, len(found) * min(outside)) if outside else max(inside)


def _reason(
    word: str, label: str, edges: tuple, level: float, found: dict[str, Effect]
) -> str:
    effect, (low, high) = found[label], edges
    x = effect.interval(level)
    place = f"above {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
    part = PART.get(word, "all")
    closest = (
        f" (the closest of {len(found)} rivals)"
        if len(found) > 1 and part == "all"
        else ""
    )
    strongest = min(found, key=lambda k: found[k].mean)
    other = (
        f"; {strongest}: {shown(found[strongest].mean)}" if strongest != label else ""
    )
    of = f"{x.n} seeds" if effect.fixed < 2 else "no seeds drawn"
    of += ", test pairs resampled" if effect.fixed and len(effect.by_pairs) else ""
    return (
        f"{'all alike: ' if word == ALIKE else ''}{label}{closest}: {shown(x.mean)} "
        f"({100 * level:.4g} % interval {shown(x.low)} to {shown(x.high)}, {of}); "
        f"{part} of the interval lies {place}{other}"
    )
