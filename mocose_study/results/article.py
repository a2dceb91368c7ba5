"""The front page of the site: what was asked, how, and what came out, from run files alone."""

from pathlib import Path

import pandas as pd

from mocose_study.config.profiles import configure
from mocose_study.sections import GRIDS

from .conclude import paragraph, verdicts_on
from .ledger import place_of, summary
from .show import scores_markdown
from .tables import filled, markdown, table_of


def article(profile: str, pages: list[str], figure: Path) -> str:
    """The page as MyST Markdown; `pages` are the notebooks it links, in their order."""

    def linked(page: str, text: str) -> str:
        return f"[{text}]({page}.ipynb)" if page in pages else text

    runs = {name: table_of(grid, profile) for name, grid in GRIDS.items()}
    there = {name: table for name, table in runs.items() if len(table)}
    found = [verdicts_on(GRIDS[name], table) for name, table in there.items()]
    lines = []
    for name, table in there.items():
        page = GRIDS[name].notebook
        lines.append(f"- {paragraph(GRIDS[name], table, profile, False)} {linked(page, page)}")
    if waiting := len(GRIDS) - len(there):
        lines.append(f"- {waiting} of {len(GRIDS)} sections have no runs at this profile yet.")
    start = next(iter(GRIDS))
    scores = "\n\n" + scores_markdown(GRIDS[start], profile) if start in there else " no runs yet."
    picture = f"![The systems' scores: seeds, mean and interval]({figure.name})"
    return filled(
        "front_page.md",
        claims=sum(len(grid.claims) for grid in GRIDS.values()),
        profile=profile,
        config=configure(profile),
        made=made(pd.concat(runs.values())),
        systems=linked("00_start_here", "The systems"),
        scores=scores,
        figure=picture if figure.exists() else "",
        sections="\n".join(lines),
        every_claim=linked("99_claims", "Every claim"),
        ledger=counted([table for table in found if not isinstance(table, str)]),
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


def counted(tables: list[pd.DataFrame]) -> str:
    """A row a table of the papers: how many of its claims got which verdict."""
    if not tables:
        return " No claim is judged at this profile yet."
    every = pd.concat(tables, ignore_index=True)
    rows = summary(every.assign(place=every["source"].map(place_of)))
    rows = rows.loc[:, rows.any()].astype(object).where(rows > 0, "")
    rows = rows.rename(columns=lambda word: f"[{word}]{{.{word.replace(' ', '-')}}}")
    return "\n\n" + markdown(rows.rename_axis("claims of").reset_index())
