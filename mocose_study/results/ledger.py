"""The ledger: every claim of the papers, what our runs say to it, and which are not judged."""

import re

import pandas as pd
from IPython.display import HTML

from mocose_study.claims.verdicts import verdicts
from mocose_study.data.files import study_folder
from mocose_study.sections.grid import statements
from mocose_study.config.profiles import PROFILES
from mocose_study.results.tables import table_of
from mocose_study.sections import GRIDS

COLUMNS = ("id", "source", "text", "verdict", "effect", "low", "high", "n", "metric", "reason")
# Why a statement has no rule here, by what its two points name.
REASONS = (
    (r"bert-large|roberta", "needs another encoder: profiles large, roberta-base"),
    (r"sbert|qqp|paranmt|anli|flickr|skip_thought", "names a system or data that the study lacks"),
)


def judged(profile: str) -> pd.DataFrame:
    """A row a claim of every section: verdict, effect with interval (Holm-corrected within its
    grid), reason; `paper` is the effect that the paper prints, where it prints one.

    A rule counts its effect in the direction in which the claim is true; so does `paper`.
    """
    parts = []
    for name, grid in GRIDS.items():
        if grid.claims:
            found = verdicts(grid.claims, table_of(grid, profile))
            parts.append(found.assign(section=name, notebook=grid.notebook))
    table = pd.concat(parts, ignore_index=True)
    printed = table["id"].map(pd.to_numeric(statements()["paper_effect"], errors="coerce"))
    table["paper"] = printed.where(table["rule"].eq("Equivalent"), printed.abs())
    return table[[*COLUMNS, "paper", "section", "notebook"]]


def unjudged() -> pd.DataFrame:
    """The statements of the papers without a rule, each with the reason."""
    ruled = {claim.id for grid in GRIDS.values() for claim in grid.claims}
    table = statements().loc[lambda t: ~t.index.isin(ruled), ["where", "statement", "points"]]
    return table.assign(why=table["points"].map(_why)).drop(columns="points").reset_index()


def _why(points: str) -> str:
    return next((why for pattern, why in REASONS if re.search(pattern, points)), "no rule yet")


def in_points(table: pd.DataFrame) -> pd.DataFrame:
    """The judged effects on the seven-task average, for `plots.effects`."""
    shown = table[table["metric"].eq("sts_avg") & table["effect"].notna()]
    return shown.rename(columns={"id": "point", "effect": "difference"})


def by_profile() -> pd.DataFrame:
    """A row a claim, a column a profile that has runs: the verdicts side by side."""
    there = [p for p in PROFILES if any((study_folder() / "data" / "runs" / p).glob("*.json"))]
    found = {p: judged(p).set_index("id")["verdict"] for p in there if p != "smoke"}
    return pd.DataFrame(found)


def linked(table: pd.DataFrame) -> HTML:
    """The table with a link to each claim's notebook."""
    links = table["notebook"].map(lambda name: f'<a href="{name}.ipynb">{name}</a>')
    return HTML(table.assign(notebook=links).to_html(escape=False, index=False, na_rep=""))
