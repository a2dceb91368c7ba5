"""The claims of the papers, from `claims.csv`: one row per claim, at most 130.

    section  a section; its points have the labels in a and b
    id       "control": the harm that must show in the section, else it has no range
    source   the paper, or this study
    table    the table, figure or section of it
    also     where else the paper says it
    claim    in our words
    rule     see `mocose_study.claims.verdicts`; rivals of "best" are parted by " | "
    margin   in the unit of the metric. Of STS averages, 0.5 points are the least
             difference of practical interest, 5 the least known harm.
    metric   a column of the runs; of alignment and uniformity, less is better
    paper    the paper's effect
    mended   what was wrong with a rule that was mended when its runs were there

Other rules are committed before the runs that they judge (`mocose claims --check`).
"""

from functools import cache
from pathlib import Path

import pandas as pd

from mocose_study.claims.verdicts import Claim
from mocose_study.config import InputError, choose

from . import SECTIONS

FILE = Path(__file__).with_suffix(".csv")
CONTROL = "control"


@cache
def rows() -> pd.DataFrame:
    """The file as it is. Raises InputError for a section, label or id that is wrong."""
    table = pd.read_csv(FILE, keep_default_na=False, dtype=str)
    ids = table.loc[table["id"] != CONTROL, "id"]
    if twice := list(ids[ids.duplicated()]):
        raise InputError(f"claims.csv has several rows of {twice[0]}.")
    for row in table.itertuples():
        points = choose(SECTIONS, row.section, "section of claims.csv").points
        for label in (row.a, *row.b.split(" | ")):
            choose(points, label, f"point of {row.section}, for claim {row.id}")
    return table


def claims_of(section: str) -> tuple[Claim | None, list[Claim]]:
    """The control of a section, if it has one, and its claims."""
    claims = []
    for row in rows()[rows()["section"] == section].itertuples():
        b, margin = tuple(row.b.split(" | ")), float(row.margin)
        rule = (row.rule, row.a, b, margin, row.metric, float(row.paper or "nan"))
        where = (row.source, row.table, row.also)
        claims.append(Claim(row.id, *where, row.claim, *rule, row.mended))
    control = next((claim for claim in claims if claim.id == CONTROL), None)
    return control, [claim for claim in claims if claim is not control]
