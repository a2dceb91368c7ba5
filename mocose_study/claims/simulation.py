"""The whole procedure on made-up runs whose effects are known: how often each verdict comes out."""

import numpy as np
import pandas as pd

from .effects import Effect, Scores, difference
from .rules import Best, Better, Equivalent, Rule, Size
from .verdicts import WORDS, Claim, decide, judge

CONTROL = Better("b", "control", margin=5.0)
HARM = 10.0  # points that the control costs
LEAD = 2.0  # points that "a" leads by in the paper


def simulate(
    spread: float,
    effects: tuple[float, ...] = (0.0, 0.5, 2.0, 10.0),
    seeds: tuple[int, ...] = (5, 10),
    studies: int = 200,
) -> pd.DataFrame:
    """A row for each rule, true effect and number of seeds: the share of each verdict.

    `spread` is the standard deviation of a score over seeds, in points. All claims are about the
    point "a", which leads by LEAD points in the paper and by the effect in truth. "true" says
    whether the claim holds, so that "supported" where it does not is the error that matters.
    """
    rng = np.random.default_rng(0)
    best = Best("a", ["b", "c", "d"], 0.5)
    rules = Better("a", "b"), best, Size("a", "b", LEAD), Equivalent("a", "b", 0.5)
    claims = [Claim(type(rule).__name__, "", "", rule, effect=LEAD) for rule in rules]
    rows = []
    for effect, n in [(effect, n) for effect in effects for n in seeds]:
        means = {"a": effect, "control": -HARM, "b": 0.0, "c": 0.0, "d": 0.0}
        given = []
        for _ in range(studies):
            made = {x: enumerate(rng.normal(mean, spread, n)) for x, mean in means.items()}
            made = {x: Scores(dict(values), {}) for x, values in made.items()}
            found = {c.id: _effects(c.rule, made) for c in claims}
            given.append(decide(claims, found, judge(CONTROL, _effects(CONTROL, made))))
        for claim in claims:
            words = [answers[claim.id].verdict for answers in given]
            shares = {word: words.count(word) / studies for word in WORDS[:-1]}
            low, high = claim.rule.inside
            row = {"rule": claim.id, "effect": effect, "seeds": n, "true": low < effect < high}
            rows.append(row | shares)
    return pd.DataFrame(rows).sort_values(["rule", "effect", "seeds"], ignore_index=True)


def _effects(rule: Rule, made: dict[str, Scores]) -> dict[str, Effect]:
    return {f"{a} minus {b}": difference(made[a], made[b]) for a, b in rule.pairs}
