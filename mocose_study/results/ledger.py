"""The ledger: every claim of the papers, what our runs say to it, and which are not judged."""

import html
import re
import textwrap

import numpy as np
import pandas as pd
from IPython.display import HTML

from mocose_study.claims.record import check_order, digest, put_on_record
from mocose_study.claims.rules import points
from mocose_study.claims.stats import benjamini_hochberg
from mocose_study.claims.verdicts import DECIDED, SEEDS_NEEDED, UNTESTABLE, WORDS, verdicts
from mocose_study.config import PROFILES, InputError, choose
from mocose_study.data.files import study_folder
from mocose_study.sections import GRIDS
from mocose_study.sections.claims import PAPERS, statements
from mocose_study.sections.grid import Grid

from .style import VERDICTS
from .tables import METRIC, table_of

RATE = 0.05  # of false verdicts among those that Benjamini and Hochberg let pass
# Why a statement has no rule here, by what its two points name.
REASONS = (
    (r"bert-large|roberta", "needs another encoder: profiles large, roberta-base"),
    (r"sbert|qqp|paranmt|anli|flickr|skip_thought", "names a system or data that the study lacks"),
)
CHANCE = ("claims", "with runs", "decided", "surviving the whole paper")
MARKED = re.compile(r"<!-- claim (\S+) (\S+) -->.*?<!-- /claim -->", re.S)


def section(grid: Grid, profile: str) -> pd.DataFrame:
    """The verdicts on one section's claims; a profile of too few seeds judges none."""
    enough = choose(PROFILES, profile, "profile").seeds >= SEEDS_NEEDED
    runs = table_of(grid, profile) if enough else pd.DataFrame()
    return verdicts(grid.claims, runs, grid.control, grid.starts)


def judged(profile: str) -> pd.DataFrame:
    """A row a claim of every section: what `verdicts` says, and paper, place, section, notebook.

    p_bh: Benjamini and Hochberg's p over all claims of the paper that have runs. A claim that is
    not testable here counts in this family as one that found nothing.
    """
    parts = [
        section(grid, profile).assign(section=name, notebook=grid.notebook)
        for name, grid in GRIDS.items()
        if grid.claims
    ]
    table = pd.concat(parts, ignore_index=True).rename(columns={"paper": "reported"})
    table["paper"], table["place"] = table["source"].map(paper_of), table["source"].map(place_of)
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
    counts = pd.crosstab(table["place"], table["verdict"]).reindex(columns=WORDS, fill_value=0)
    return counts.loc[sorted(counts.index, key=_order)].rename_axis(columns=None)


def _order(place: str) -> tuple:
    """MoCoSE first, then SimCSE, then S-SimCSE; tables by number, lettered ones after them."""
    paper = next((i for i, p in enumerate(PAPERS.values()) if place.startswith(p)), len(PAPERS))
    number = re.search(r"Table (\d*)", place)
    return paper, "Table" not in place, int(number[1] or 99) if number else 0, place


def by_chance(table: pd.DataFrame) -> pd.DataFrame:
    """A row a paper: how many verdicts decide, how many survive all claims of the paper, and how
    many false ones chance alone would bring."""
    rows = []
    for paper, claims in table.groupby("paper", sort=False):
        asked, decided = claims["p"].notna().sum(), claims["verdict"].isin(DECIDED)
        surviving = (decided & (claims["p_bh"] <= RATE)).sum()
        rows.append((paper, len(claims), asked, decided.sum(), surviving))
    table = pd.DataFrame(rows, columns=["paper", *CHANCE]).set_index("paper")
    table["false among these, at most"] = RATE * table["surviving the whole paper"]
    table["false, were nothing corrected"] = RATE * table["with runs"]
    return table.round(2)


def listed(table: pd.DataFrame) -> HTML:
    """The claims grouped by the papers' tables: a line each, our effect beside the paper's."""
    head = ("claim", "verdict", "here", "interval", "seeds", "the paper", "notebook")
    lines = ["<tr>" + "".join(f"<th>{name}</th>" for name in head) + "</tr>"]
    for place in summary(table).index:
        lines.append(f'<tr><th colspan="{len(head)}">{html.escape(place)}</th></tr>')
        lines += [_line(row) for row in table[table["place"] == place].to_dict("records")]
    return HTML(f'<table class="ledger">{"".join(lines)}</table>')


def _line(row: dict) -> str:
    color = VERDICTS.get(row["verdict"], ("", "#555555"))[1]
    survives = " *" if row["verdict"] in DECIDED and row["p_bh"] <= RATE else ""
    interval = f"{row['low']:.2f} to {row['high']:.2f}" if row["low"] == row["low"] else ""
    cells = [
        f'<td title="{html.escape(row["id"])}">{html.escape(row["text"])}</td>',
        f'<td title="{html.escape(row["reason"])}" style="color:{color};font-weight:bold">'
        f"{row['verdict']}{survives}</td>",
        *(f"<td>{cell}</td>" for cell in (_number(row["effect"]), interval, row["n"] or "")),
        f"<td>{_number(row['reported'])}</td>",
        f'<td><a href="{row["notebook"]}.ipynb#Verdict:-{row["section"]}">{row["notebook"]}</a></td>',
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else ""


def unjudged() -> pd.DataFrame:
    """The statements of the papers without a rule, each with the reason."""
    ruled = {claim.id for grid in GRIDS.values() for claim in grid.claims}
    table = statements().loc[lambda t: ~t.index.isin(ruled), ["where", "statement", "points"]]
    return table.assign(why=table["points"].map(_why)).drop(columns="points").reset_index()


def _why(points: str) -> str:
    return next((why for pattern, why in REASONS if re.search(pattern, points)), "no rule yet")


def by_profile() -> pd.DataFrame:
    """A row a claim, a column a profile that has runs and judges: the verdicts side by side."""
    folder = study_folder() / "data" / "runs"
    there = [p for p in PROFILES if any((folder / p).glob("*.json"))]
    there = [p for p in there if PROFILES[p].seeds >= SEEDS_NEEDED]
    return pd.DataFrame({p: judged(p).set_index("id")["verdict"] for p in there})


def spread_of_seeds(profile: str) -> float:
    """Standard deviation of the average over seeds, in points: the median over the points with
    five seeds or more that draw anything; NaN where there are none."""
    found = []
    for grid in GRIDS.values():
        runs = table_of(grid, profile)
        if METRIC in runs:
            sums = runs.groupby("label")[METRIC].agg(["count", "std"])
            found += sums.loc[sums["count"] >= SEEDS_NEEDED, "std"].tolist()
    return float(np.median([x for x in found if x > 0] or [np.nan]))


def sentence(claim_id: str, profile: str) -> str:
    """What the runs of a profile say to a claim, in one sentence that the verdict fills.

    Raises InputError for a claim that no section judges.
    """
    grids = [g for g in GRIDS.values() if claim_id in {claim.id for claim in g.claims}]
    if not grids:
        raise InputError(f"no section judges a claim {claim_id!r}; `mocose claims` lists all.")
    row = section(grids[0], profile).set_index("id").loc[claim_id]
    said = f"{row['source']}, “{row['text'].rstrip('.')}”: **{row['verdict']}**"
    if row["verdict"] in ("no runs", UNTESTABLE):
        return f"{said} ({row['reason']})."
    if not np.isfinite(row["low"]):
        return f"{said}, {row['effect']:+.2f} with one seed ({row['reason']})."
    seeds = f"{row['n']} seeds" if row["n"] > 1 else "over test pairs"
    paper = f"; the paper reports {row['paper']:.2g}" if np.isfinite(row["paper"]) else ""
    return (
        f"{said}, {row['effect']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f}, {seeds}){paper}."
    )


def with_sentences(text: str) -> str:
    """The text with every statement of a result, `<!-- claim ID PROFILE -->…<!-- /claim -->`,
    computed anew; a text that says what the ledger says comes back as it was."""

    def filled(found: re.Match) -> str:
        said = textwrap.fill(sentence(found[1], found[2]), 98, subsequent_indent="  ")
        return f"<!-- claim {found[1]} {found[2]} -->\n  {said}\n  <!-- /claim -->"

    return MARKED.sub(filled, text)


def digests() -> dict[str, str]:
    """The digest of every claim's rule, by the claim's id."""
    return {c.id: digest(c, grid.control) for grid in GRIDS.values() for c in grid.claims}


def late(profile: str) -> dict[str, str]:
    """{id: why} of the claims whose rule may be younger than the runs that it judges."""
    links = {}
    for grid in GRIDS.values():
        runs = table_of(grid, profile) if grid.claims else pd.DataFrame()
        for claim in grid.claims:
            named = points(claim.rule) + (points(grid.control) if grid.control else [])
            there = runs[runs["label"].isin([point["label"] for point in named])]
            links[claim.id] = there.get("rules", pd.Series(dtype=object)).tolist()
    return check_order(digests(), links)


def claims_command(profile: str, write: bool = False, check: bool = False) -> None:
    """`mocose claims`: the summary; puts rules on record; or names rules younger than their runs.

    Raises SystemExit with code 1 if the check finds any.
    """
    if write:
        print(f"{len(put_on_record(digests()))} rules put on record")
    if check:
        found = late(profile)
        print("\n".join(f"{id}: {why}" for id, why in found.items()) or "every rule is older")
        if found:
            raise SystemExit(1)
    if not write and not check:
        print(summary(judged(profile)).to_string())
