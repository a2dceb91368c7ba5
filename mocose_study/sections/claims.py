"""The rules that judge the papers' statements, from `claims.csv`: a row a statement.

    id       of a row of data/paper/statements.csv or of `more_statements.csv`; "control": the harm
             that must show in the section before any claim is judged
    rule     a class of `claims/rules.py`; a statement with a Size is two claims: that `a` beats
             `b`, and by how much
    a, b     labels of points; the rivals of Best are separated by " | "
    margin   in the unit of the metric. Of STS averages, 0.5 points are the least difference that
             is of practical interest, 5 the least harm of a control and what "far" means
             (the papers' own distances are 4 to 11), and 10 a collapse.
    metric   a column of the runs; of alignment and uniformity, less is better

Rules are committed before the runs that they judge.
"""

import math
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import pandas as pd

from mocose_study.claims.rules import Best, Better, Equivalent, Rule, Size
from mocose_study.claims.verdicts import Claim
from mocose_study.config import InputError, choose
from mocose_study.data.files import shipped

RULES = {rule.__name__: rule for rule in (Better, Equivalent, Best, Size)}
RULES_FILE = Path(__file__).with_name("claims.csv")
CONTROL = "control"
PAPERS = {
    "mocose": "MoCoSE",
    "mocose_anonymous": "MoCoSE (anonymous)",
    "simcse": "SimCSE",
    "s_simcse": "S-SimCSE",
    "study": "this study",
}


@cache
def statements() -> pd.DataFrame:
    """Every statement that is judged, by id: those of the papers (data/paper/statements.csv), and
    beside this file those that are ours, or that a paper makes with neither table nor number.
    `effect_of` names the paper's statement that one of ours asks again, with its effect."""
    paths = (
        shipped("paper") / "statements.csv",
        files(__package__) / "more_statements.csv",
    )
    found = pd.concat([_csv(path) for path in paths]).fillna("").set_index("id")
    again = found["effect_of"].map(found["paper_effect"]).fillna("")
    return found.assign(paper_effect=found["paper_effect"] + again)


def reasons() -> pd.Series:
    """Why a statement has no rule, by its id."""
    return _csv(files(__package__) / "unjudged.csv").set_index("id")["why"]


def _csv(path) -> pd.DataFrame:
    return pd.read_csv(str(path), keep_default_na=False, dtype=str)


@cache
def rows() -> pd.DataFrame:
    """The rules as they are written. Raises InputError for a statement with several."""
    table = _csv(RULES_FILE)
    ids = table.loc[table["id"] != CONTROL, "id"]
    if twice := list(ids[ids.duplicated()]):
        raise InputError(f"claims.csv has several rows of {twice[0]}")
    return table


def judging(
    section: str, labels: Collection[str]
) -> tuple[Rule | None, tuple[Claim, ...]]:
    """The control and the claims of a section whose points have these labels.

    Raises InputError, with the row, for a label, statement or rule that there is not, or no number.
    """
    control, claims = None, []
    for row in rows()[rows()["section"] == section].itertuples():
        try:
            if row.id == CONTROL:
                control = _rule(row, labels)
            else:
                claims += _claims(row, labels)
        except (InputError, ValueError) as cause:
            raise InputError(
                f"claims.csv, {row.id} of section {section}: {cause}"
            ) from None
    return control, tuple(claims)


def points_of(row) -> list[str]:
    """The labels that a row compares, `a` first."""
    return [row.a, *(row.b.split(" | ") if row.rule == Best.__name__ else [row.b])]


def _rule(row, labels: Collection[str], effect: float | None = None) -> Rule:
    kind = choose(RULES, row.rule, "rule")
    _, *rivals = points_of(row)
    if unknown := [label for label in points_of(row) if label not in labels]:
        raise InputError(f"no point has the label {unknown[0]!r}")
    limit = effect if kind is Size else float(row.margin)
    if limit is None or not math.isfinite(limit):
        raise InputError(
            f"{row.rule} needs a number: a margin, of Size the paper's effect"
        )
    return kind(row.a, rivals if kind is Best else row.b, limit)


def _claims(row, labels: Collection[str]) -> list[Claim]:
    """The claim of a row; of a statement with a size, that `a` beats `b` and then the size."""
    if row.id not in statements().index:
        raise InputError("neither statements.csv nor more_statements.csv has it")
    said = statements().loc[row.id]
    source = f"{PAPERS[said['paper']]} {said['where']}".strip()
    effect = abs(float(said["paper_effect"])) if said["paper_effect"] else None
    rule = _rule(row, labels, effect)
    claim = Claim(row.id, source, said["statement"], rule, row.metric, effect=effect)
    if row.rule != Size.__name__:
        return [claim]
    text = f"{claim.text} (Judged here: the size, {effect:g} points or half of them at least.)"
    size = replace(claim, id=f"{row.id}-size", text=text)
    direction = f"{claim.text} (Judged here: the direction alone.)"
    return [replace(claim, text=direction, rule=Better(rule.a, rule.b)), size]
