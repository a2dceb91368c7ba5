"""The whole procedure on made-up runs whose effects are known: how often each verdict comes out."""

import numpy as np
import pandas as pd

from .effects import Scores, difference
from .rules import Best, Better, Equivalent, Size
from .verdicts import WORDS, Claim, decide, judge

RIVALS = ("b", "c", "d")
CONTROL_HARM = 10.0  # points that the control costs


def _section(paper: float) -> tuple[Claim, ...]:
    """One claim of each rule, all of one point: the paper says that it leads by `paper` points."""
    a, b = {"label": "a"}, {"label": "b"}
    rules = (
        Better(a, b),
        Best(a, [{"label": x} for x in RIVALS], margin=0.5),
        Size(a, b, paper),
        Equivalent(a, b, 0.5),
    )
    return tuple(Claim(type(r).__name__, "", "", r, effect=paper) for r in rules)


def _holds(rule: str, effect: float, paper: float) -> bool:
    return {
        "Better": effect > 0,
        "Best": effect > 0,
        "Size": effect > paper / 2,
        "Equivalent": abs(effect) < 0.5,
    }[rule]


def simulate(
    spread: float,
    effects: tuple[float, ...] = (0.0, 0.5, 2.0, 10.0),
    seeds: tuple[int, ...] = (5, 10),
    paper: float = 2.0,
    studies: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """A row for each rule, true effect and number of seeds: the share of each verdict.

    `spread` is the standard deviation of a score over seeds, in points. "true" says whether the
    claim holds, so that "supported" where it does not is the error that matters.
    """
    rng = np.random.default_rng(seed)
    claims, control = _section(paper), Better({"label": "b"}, {"label": "control"}, margin=5.0)
    rows = []
    for effect, n in [(effect, n) for effect in effects for n in seeds]:
        means = {"a": effect, "control": -CONTROL_HARM} | dict.fromkeys(RIVALS, 0.0)
        words = []
        for _ in range(studies):
            made = {x: rng.normal(mean, spread, n).tolist() for x, mean in means.items()}
            made = {x: Scores(dict(enumerate(values)), {}) for x, values in made.items()}
            found = {c.id: _effects(c.rule, made) for c in claims}
            answers = decide(claims, found, judge(control, _effects(control, made)))
            words.append({id: answer.verdict for id, answer in answers.items()})
        for rule, given in pd.DataFrame(words).items():
            shares = {word: float((given == word).mean()) for word in WORDS[:-1]}
            holds = _holds(rule, effect, paper)
            rows.append({"rule": rule, "effect": effect, "seeds": n, "true": holds, **shares})
    return pd.DataFrame(rows).sort_values(["rule", "effect", "seeds"], ignore_index=True)


def _effects(rule, made: dict[str, Scores]) -> dict:
    pairs = [(a["label"], b["label"]) for a, b in rule.pairs]
    return {f"{a} minus {b}": difference(made[a], made[b]) for a, b in pairs}
