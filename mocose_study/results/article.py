"""The front page of the site: what was asked, how, and what came out, from run files alone."""

from pathlib import Path

import pandas as pd

from mocose_study.config.profiles import configure
from mocose_study.sections import GRIDS
from mocose_study.sections.grid import Grid

from .conclude import headline, leading, means_of, spread, tally, verdicts_on
from .ledger import place_of, summary
from .show import beside_paper
from .tables import filled, markdown, table_of


def article(profile: str, pages: list[str], figure: Path) -> str:
    """The page as MyST Markdown; `pages` are the notebooks it links, in their order."""

    def linked(page: str, text: str) -> str:
        return f"[{text}]({page}.ipynb)" if page in pages else text

    runs = {name: table_of(grid, profile) for name, grid in GRIDS.items()}
    found = {name: verdicts_on(grid, runs[name]) for name, grid in GRIDS.items()}
    there = [name for name in GRIDS if len(runs[name])]
    lines = [section(GRIDS[name], runs[name], found[name], linked) for name in there]
    if waiting := len(GRIDS) - len(there):
        lines.append(f"- {waiting} of {len(GRIDS)} sections have no runs at this profile yet.")
    start = next(iter(GRIDS))
    picture = f"![The systems' scores: seeds, mean and interval]({figure.name})"
    return filled(
        "front_page.md",
        claims=sum(len(grid.claims) for grid in GRIDS.values()),
        profile=profile,
        config=configure(profile),
        made=made(pd.concat(runs.values())),
        systems=linked("00_start_here", "The systems"),
        scores=scores(GRIDS[start], runs[start]),
        figure=picture if figure.exists() else "",
        sections="\n".join(lines),
        every_claim=linked("99_claims", "Every claim"),
        ledger=ledger([table for table in found.values() if not isinstance(table, str)]),
        pages="\n".join(pages),
    )


def made(runs: pd.DataFrame) -> str:
    """How many runs there are, and what they took."""
    if runs.empty:
        return "There are no runs at this profile yet."
    runs = runs.drop_duplicates("id")
    return (
        f"The page rests on {len(runs):,} runs, which took {runs['seconds'].sum() / 3600:.1f} hours "
        "in all."
    )


def scores(grid: Grid, runs: pd.DataFrame) -> str:
    """Means of the section's points beside the paper's."""
    if runs.empty:
        return " there are no runs yet."
    table = beside_paper(grid, runs)
    return "\n\n" + markdown(table[[name for name in table if "centred" not in name]])


def section(grid: Grid, runs: pd.DataFrame, found: pd.DataFrame | str, linked) -> str:
    """A section's question, where its points lie, and its verdicts counted; the first in words."""
    span = spread(*means_of(grid, runs))
    if not isinstance(found, str):
        found = f"{tally(found, colored)}. {headline(leading(found))}"
    return f"- {linked(grid.notebook, grid.question)} {span} {found}"


def ledger(tables: list[pd.DataFrame]) -> str:
    """A row a table of the papers: how many of its claims got which verdict."""
    if not tables:
        return " No claim is judged at this profile yet."
    every = pd.concat(tables, ignore_index=True)
    rows = summary(every.assign(place=every["source"].map(place_of)))
    rows = rows.loc[:, rows.any()].astype(object).where(rows > 0, "")
    rows = rows.rename(columns=colored).rename_axis("claims of").reset_index()
    return "\n\n" + markdown(rows)


def colored(word: str) -> str:
    return f"[{word}]{{.{word.replace(' ', '-')}}}"
