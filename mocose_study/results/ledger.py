"""The ledger: every claim of the papers, what our runs say to it, and which are not judged."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
from IPython.display import HTML

from mocose_study.claims.rules import Better, Size
from mocose_study.claims.stats import benjamini_hochberg
from mocose_study.claims.verdicts import (
    DECIDED,
    SEEDS_NEEDED,
    UNTESTABLE,
    WORDS,
    Claim,
    verdicts,
)
from mocose_study.config import PROFILES
from mocose_study.data.files import study_folder
from mocose_study.data.git import line_times
from mocose_study.sections import GRIDS
from mocose_study.sections.claims import (
    CONTROL,
    PAPERS,
    RULES_FILE,
    points_of,
    reasons,
    rows,
    statements,
)
from mocose_study.sections.grid import Grid

from .conclude import verdicts_on
from .style import VERDICTS
from .tables import LAST, METRIC, filled, table_of

RATE = 0.05  # of false verdicts among those that Benjamini and Hochberg let pass
SURVIVING = "surviving the whole paper"
JUDGED = (*DECIDED, "inconclusive")


def section(grid: Grid, runs: pd.DataFrame, change: Callable = lambda claim: claim):
    """The verdicts on one section's claims; a profile of too few seeds judges none."""
    grid = replace(grid, claims=tuple(map(change, grid.claims)))
    found = verdicts_on(grid, runs)
    return (
        verdicts(grid.claims, pd.DataFrame(), grid.control)
        if isinstance(found, str)
        else found
    )


def on_other_terms(profile: str) -> pd.DataFrame:
    """The claims that would have another verdict on other terms, a row a claim; else empty cells.

    The terms: judged at the last step instead of at the chosen one; by half of the paper's effect
    where a rule asks for its direction alone; by the seeds after the first five alone.
    """
    rows = []
    for grid in filter(lambda grid: grid.claims, GRIDS.values()):
        runs = table_of(grid, profile)
        later = grid.seeds_at(profile)[SEEDS_NEEDED:]
        found = section(grid, runs).set_index("id")[["text", "verdict"]]
        terms = {
            "at the last step": section(grid, runs, _late),
            "by half of the paper's effect": section(grid, runs, _sized),
            "by the later seeds": section(grid, runs[runs["seed"].isin(later)]),
        }
        for name, table in terms.items():
            other = table.set_index("id")
            judged_too = other["verdict"].isin(JUDGED) & other["n"].ge(SEEDS_NEEDED)
            moved = other["verdict"].ne(found["verdict"]) & judged_too
            found[name] = other["verdict"].where(moved, "")
        rows.append(
            found[found["verdict"].isin(JUDGED) & found[list(terms)].ne("").any(axis=1)]
        )
    return pd.concat(rows)


def _late(claim: Claim) -> Claim:
    return replace(claim, metric=LAST) if claim.metric == METRIC else claim


def _sized(claim: Claim) -> Claim:
    """The claim with a Size in place of a direction, if its size is no claim beside it."""
    if (
        type(claim.rule) is not Better
        or not claim.effect
        or "the direction alone" in claim.text
    ):
        return claim
    return replace(claim, rule=Size(claim.rule.a, claim.rule.b, claim.effect))


def judged(profile: str) -> pd.DataFrame:
    """A row a claim of every section: what `verdicts` says, and paper, place, section, notebook.

    p_bh: Benjamini and Hochberg's p over all claims of the paper that have runs. A claim that is
    not testable here counts in this family as one that found nothing.
    """
    parts = [
        section(grid, table_of(grid, profile)).assign(
            section=name, notebook=grid.notebook
        )
        for name, grid in GRIDS.items()
        if grid.claims
    ]
    table = pd.concat(parts, ignore_index=True).rename(columns={"paper": "reported"})
    table["paper"], table["place"] = (
        table["source"].map(paper_of),
        table["source"].map(place_of),
    )
    counted = table["p"].mask(table["verdict"].eq(UNTESTABLE), 1.0)
    table["p_bh"] = counted.groupby(table["paper"]).transform(benjamini_hochberg)
    return table


def paper_of(source: str) -> str:
    """ "MoCoSE Table 1, abstract" -> "MoCoSE"; what no paper says is named by its source."""
    named = [paper for paper in PAPERS.values() if source.startswith(f"{paper} ")]
    return max(named, key=len, default=source)


def place_of(source: str) -> str:
    """The paper's table, "MoCoSE Table 1", or "MoCoSE, figures and text"."""
    paper, table = paper_of(source), re.search(r"Table [\w.]+", source)
    if paper == source:
        return source
    return f"{paper} {table[0]}" if table else f"{paper}, figures and text"


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each table of the papers have each verdict: the ledger on one screen."""
    counts = pd.crosstab(table["place"], table["verdict"]).reindex(
        columns=WORDS, fill_value=0
    )
    return counts.loc[sorted(counts.index, key=_order)].rename_axis(columns=None)


def _order(place: str) -> tuple:
    """MoCoSE first, then SimCSE, then S-SimCSE; tables by number, lettered ones after them."""
    paper = next(
        (i for i, p in enumerate(PAPERS.values()) if place.startswith(p)), len(PAPERS)
    )
    number = re.search(r"Table (\d*)", place)
    return paper, "Table" not in place, int(number[1] or 99) if number else 0, place


def by_chance(table: pd.DataFrame) -> pd.DataFrame:
    """A row a paper: how many verdicts decide, survive all its claims, or are false by chance."""
    counted = {
        "claims": 1,
        "with runs": table["p"].notna(),
        "decided": table["verdict"].isin(DECIDED),
        SURVIVING: _survives(table),
    }
    found = pd.DataFrame(counted).groupby(table["paper"], sort=False).sum()
    found["false among these, expected at most"] = RATE * found[SURVIVING]
    found["false, were nothing corrected"] = RATE * found["with runs"]
    return found.round(2)


def _survives(claims):
    """Whether a verdict decides, and survives all claims of its paper."""
    return claims["verdict"].isin(DECIDED) & (claims["p_bh"] <= RATE)


def listed(table: pd.DataFrame) -> HTML:
    """The claims grouped by the papers' tables: a line each, our effect beside the paper's."""
    head = ("claim", "verdict", "here", "interval", "seeds", "the paper", "notebook")
    table = table.assign(star=_survives(table).map({True: " *", False: ""}))
    lines = ["<tr>" + "".join(f"<th>{name}</th>" for name in head) + "</tr>"]
    for place in summary(table).index:
        lines.append(f'<tr><th colspan="{len(head)}">{escape(place)}</th></tr>')
        lines += [
            _line(row) for row in table[table["place"] == place].to_dict("records")
        ]
    return HTML(f'<table class="ledger">{"".join(lines)}</table>')


def _line(row: dict) -> str:
    texts = {
        name: escape(value) for name, value in row.items() if isinstance(value, str)
    }
    numbers = {
        k: f"{row[k]:.2f}" if np.isfinite(row[k]) else ""
        for k in ("effect", "reported")
    }
    interval = (
        f"{row['low']:.2f} to {row['high']:.2f}" if np.isfinite(row["low"]) else ""
    )
    pale = row["verdict"] in (UNTESTABLE, "no runs")
    color = "#555555" if pale else VERDICTS[row["verdict"]]
    about = {"color": color, "interval": interval, "n": row["n"] or ""}
    return "".join(filled("claim.html", **texts, **numbers, **about).splitlines())


def unjudged() -> pd.DataFrame:
    """The statements of the papers without a rule, each with the reason."""
    ruled = [claim.id for grid in GRIDS.values() for claim in grid.claims]
    table = statements().drop(ruled, errors="ignore").join(reasons())
    table["paper"] = table["paper"].map(PAPERS)
    return table[["paper", "where", "statement", "why"]].sort_values(
        "why", kind="stable"
    )


def by_profile() -> pd.DataFrame:
    """A row a claim that several profiles judge; columns (profile, "verdict" or "effect")."""
    folder, found = study_folder() / "data" / "runs", {}
    for name, profile in PROFILES.items():
        if profile.seeds >= SEEDS_NEEDED and any((folder / name).glob("*.json")):
            table = judged(name).set_index("id").query("n > 0")
            found[name] = table[["verdict", "effect"]]
    return pd.concat(found or {"none": pd.DataFrame()}, axis=1).dropna(thresh=4)


def spread_of_seeds(profile: str) -> float:
    """Standard deviation of the average over seeds, in points: the median over the points with
    five seeds or more that draw anything; NaN where there are none."""
    tables = (
        table_of(grid, profile).astype({METRIC: float}) for grid in GRIDS.values()
    )
    found = pd.concat(
        [t.groupby("label")[METRIC].agg(["count", "std"]) for t in tables]
    )
    return float(
        found.loc[found["count"].ge(SEEDS_NEEDED) & found["std"].gt(0), "std"].median()
    )


def late(profile: str) -> pd.DataFrame:
    """The claims whose rule is younger than a run that it judges: a row a claim, by id.

    written: when the row of the rule, or that of its section's control, got its present text.
    older: how many of the `n` runs are older than that. Raises InputError where git cannot tell.
    """
    rules = rows().assign(written=line_times(RULES_FILE)[1:])
    found = []
    for name, grid in GRIDS.items():
        own, runs = rules[rules["section"] == name], table_of(grid, profile)
        control = own[own["id"] == CONTROL]
        for row in own.drop(control.index).itertuples():
            both = [row, *control.itertuples()]
            written = max(rule.written for rule in both)
            labels = [label for rule in both for label in points_of(rule)]
            finished = runs.loc[runs["label"].isin(labels), "finished"].dropna()
            found.append((row.id, written, (finished < written).sum(), len(finished)))
    table = pd.DataFrame(found, columns=["id", "written", "older", "n"]).set_index("id")
    return table[table["older"] > 0]
