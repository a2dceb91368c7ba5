"""The front page of the site: what was asked, how, and what came out, from run files alone."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mocose_study.claims.verdicts import DECIDED, WORDS
from mocose_study.config.profiles import configure
from mocose_study.sections import GRIDS
from mocose_study.sections.grid import Grid

from .conclude import headline, judged
from .ledger import place_of, summary
from .show import beside_paper, labels_of
from .tables import markdown, table_of


@dataclass(frozen=True)
class Part:
    """A section with its runs, and its verdicts or the sentence that says why there are none."""

    grid: Grid
    runs: pd.DataFrame
    found: pd.DataFrame | str


def article(profile: str, pages: list[str], figure: Path) -> str:
    """The page as MyST Markdown; `pages` are the notebooks it links, in their order."""
    parts = [part(grid, profile) for grid in GRIDS.values()]
    picture = f"![The systems' scores: seeds, mean and interval]({figure.name})"
    shown = picture if figure.exists() else ""
    page = ["# MoCoSE, replicated", asked(), how(profile, parts), results(parts[0], pages), shown]
    page += [sections(parts, pages), ledger(parts, pages), contents(pages)]
    return "\n\n".join(page)


def part(grid: Grid, profile: str) -> Part:
    runs = table_of(grid, profile)
    return Part(grid, runs, judged(grid, runs))


def asked() -> str:
    claims = [claim for grid in GRIDS.values() for claim in grid.claims]
    return f"""## What was asked

MoCoSE (Cao et al., Findings of ACL 2022) trains sentence embeddings with contrastive learning: a
queue of negatives, a target encoder that follows by a moving average, and adversarial noise. The
paper says which of these parts matter, and how much. This study trains the method and its rivals
again, with several seeds a setting, and judges {len(claims)} claims of the papers and of its own.
Every claim has a rule that was written down before its runs."""


def how(profile: str, parts: list[Part]) -> str:
    config = configure(profile)
    runs = pd.concat([part.runs for part in parts]).drop_duplicates("id")
    made = "There are no runs at this profile yet."
    if len(runs):
        made = (
            f"The page rests on {len(runs):,} runs with {runs['seed'].nunique()} seeds, which took "
            f"{runs['seconds'].sum() / 3600:.1f} hours in all."
        )
    return f"""## How

This is profile `{profile}`. It starts from the encoder `{config.encoder}`, trains for
{config.steps:,} steps of {config.batch_size} sentences from the corpus `{config.corpus}`, and
measures on the benchmark `{config.benchmark}`. {made} Scores are Spearman's correlation × 100.
Intervals are at 95 % over seeds, corrected for the number of claims in a section. A claim is *not
testable here* if a change that is known to do harm does none in its section, or if the interval
is wider than the effect that the paper reports."""


def results(start: Part, pages: list[str]) -> str:
    """Means of the first section's points beside the paper's."""
    systems = link("00_start_here", pages, "The systems")
    head = f"## What came out\n\n{systems} before and after training:"
    if start.runs.empty:
        return f"{head} there are no runs yet."
    table = beside_paper(start.grid, start.runs)
    shown = table[[name for name in table if "centred" not in name]]
    return f"{head}\n\n{markdown(shown)}"


def sections(parts: list[Part], pages: list[str]) -> str:
    """One line a section: its question, where its points lie, and its verdicts counted."""
    lines = []
    for one in parts:
        if len(one.runs):
            means = one.runs.groupby("label")["sts_avg"].mean()[labels_of(one.grid, one.runs)]
            span = f"{len(means)} settings between {means.min():.1f} and {means.max():.1f}"
            verdict = one.found
            if not isinstance(verdict, str):
                verdict = tally(one.found) + first_decided(one.found)
            lines.append(f"- {link(one.grid.notebook, pages, one.grid.question)} {span}. {verdict}")
    waiting = len(parts) - len(lines)
    if waiting:
        lines.append(f"- {waiting} of {len(parts)} sections have no runs at this profile yet.")
    return "### Section by section\n\n" + "\n".join(lines)


def first_decided(found: pd.DataFrame) -> str:
    """The first of a section's claims that its runs decide, in words."""
    decided = found[found["verdict"].isin(DECIDED)]
    return f" {headline(decided)}" if len(decided) else ""


def tally(found: pd.DataFrame) -> str:
    counts = found["verdict"].value_counts()
    return ", ".join(f"{counts[w]} {colored(w)}" for w in WORDS if w in counts) + "."


def ledger(parts: list[Part], pages: list[str]) -> str:
    """A row a table of the papers: how many of its claims got which verdict."""
    tables = [part.found for part in parts if not isinstance(part.found, str)]
    every = link("99_claims", pages, "Every claim")
    head = f"## The ledger\n\n{every} with rule, effect and interval."
    if not tables:
        return f"{head} No claim is judged at this profile yet."
    every_claim = pd.concat(tables, ignore_index=True)
    rows = summary(every_claim.assign(place=every_claim["source"].map(place_of)))
    rows = rows.loc[:, rows.any()].astype(object).where(rows > 0, "")
    rows = rows.rename(columns=colored).rename_axis("claims of").reset_index()
    return f"{head}\n\n{markdown(rows)}"


def colored(word: str) -> str:
    return f"[{word}]{{.{word.replace(' ', '-')}}}"


def link(page: str, pages: list[str], text: str) -> str:
    return f"[{text}]({page}.ipynb)" if page in pages else text


def contents(pages: list[str]) -> str:
    """The navigation, which the page itself does not show."""
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])
