"""The parts of the README that come from runs: `mocose readme` writes them anew.

A sentence is written by a person for each verdict. The numbers, and which sentence
holds, come from the runs.
"""

from pathlib import Path

import pandas as pd

from mocose_study.claims.verdicts import NO_RUNS, SEEDS_NEEDED
from mocose_study.config import InputError, configure
from mocose_study.data.atomic import write_atomically
from mocose_study.sections import SECTIONS

from . import ledger, tables

PROFILE = "tiny"
FINDINGS = {  # five claims, and what is said of each by its verdict
    "mocose-average-77": {
        "supported": "MoCoSE is ahead of SimCSE",
        "contradicted": "MoCoSE is behind SimCSE",
        "open": "MoCoSE and SimCSE are too close to call",
        "no runs": "MoCoSE beside SimCSE",
    },
    "mocose-ema-needed": {
        "supported": "Without the moving average training collapses",
        "contradicted": "Without the moving average training is better",
        "open": "Whether training needs the moving average stays open",
        "no runs": "Training without the moving average",
    },
    "mocose-ema-not-099": {
        "supported": "The target should follow quickly: a decay of 0.85 beats 0.99",
        "contradicted": "The target should follow slowly: 0.99 beats a decay of 0.85",
        "open": "A decay of 0.85 against 0.99 stays open",
        "no runs": "How fast the target should follow",
    },
    "mocose-fgsm-epsilon-over-none": {
        "supported": "FGSM helps",
        "contradicted": "FGSM harms",
        "open": "FGSM at the paper's strength gains nothing that shows",
        "no runs": "FGSM beside dropout",
    },
    "mocose-heads-no-projection-harms": {
        "supported": "The projection is needed",
        "contradicted": "The projection costs points; without it MoCoSE is better",
        "open": "Whether the projection is needed stays open",
        "no runs": "MoCoSE without a projection",
    },
}
RUNNING = ": runs are being made."
NUMBERS = " ({effect:+.1f} points, {low:+.1f} to {high:+.1f} at 95 %{paper})."
CLAIMS = (  # of the table, in its order
    "mocose-average-77",
    "mocose-beats-untrained",
    "mocose-ema-needed",
    "mocose-ema-best-085",
    "mocose-ema-not-099",
    "mocose-heads-no-projection-harms",
    "mocose-augment-fgsm-helps",
    "mocose-batch-large-no-help",
    "mocose-queue-512-quarter-best",
    "mocose-queue-4096-breaks",
    "mocose-slice-middle-best",
    "mocose-distance-optimum",
)


def write(path: Path) -> None:
    """Puts the blocks between their marks. Raises InputError where one is missing."""
    text = path.read_text(encoding="utf-8")
    for name, block in blocks().items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, _, rest = text.partition(start)
        _, there, after = rest.partition(end)
        if not there:
            raise InputError(f"{path} has no place {start} … {end}.")
        text = "\n".join((before + start, block, end + after))
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def blocks() -> dict[str, str]:
    """The text of each block by its name."""
    told = rows()
    return {"finding": finding(told), "claims": claims(told), "range": range_line()}


def rows() -> dict[str, dict]:
    """The rows of the ledger that are told, by claim.

    Where seeds or runs of the known harm are being made, they are as without runs.
    """
    rules = ledger.rows()
    sections = rules.loc[rules["id"].isin({*FINDINGS, *CLAIMS}), "section"].unique()
    table = ledger.judged(PROFILE, sections)
    early = table["n"].lt(SEEDS_NEEDED) | table["range"].str.endswith("has no runs")
    table["verdict"] = table["verdict"].mask(early, NO_RUNS)
    table["range"] = table["range"].mask(table["verdict"].eq(NO_RUNS), "")
    return {row["id"]: row for row in table.to_dict("records")}


def finding(judged: dict[str, dict]) -> str:
    """Five sentences; one that stands on no range says so."""
    lines = []
    for claim, sentences in FINDINGS.items():
        row = judged[claim]
        word = row["verdict"]
        line = sentences[word] + (RUNNING if word == NO_RUNS else NUMBERS)
        paper = "" if pd.isna(row["paper"]) else f"; the paper {row['paper']:+.1f}"
        lacks = f" Read it with care: {row['range']}." if row["range"] else ""
        lines.append("- " + line.format(**row | {"paper": paper}) + lacks)
    return "\n".join(lines)


def claims(judged: dict[str, dict]) -> str:
    """A row a claim: the paper's sentence, our number, the paper's, the verdict."""
    lines = []
    for claim in CLAIMS:
        row = judged[claim]
        name, word = row["notebook"], row["verdict"]
        interval = f"{row['effect']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"
        line = {
            "the paper says": f"{row['claim']} ({row['where'].split(', ')[1]})",
            "ours": "" if word == NO_RUNS else interval,
            "the paper's": tables.signed(row["paper"]),
            "verdict": word + (" (no range)" if row["range"] else ""),
            "notebook": f"[{name[:2]}](notebooks/{name}.ipynb)",
        }
        lines.append(line)
    return tables.markdown(pd.DataFrame(lines))


def range_line() -> str:
    """What training can show at the pace: gain over the start, known harm, spread."""
    pace = f"{configure(PROFILE).lr:g}"
    runs = tables.table_of(SECTIONS["pace"], PROFILE)
    start = tables.table_of(SECTIONS["main_results"], PROFILE)
    start = start.loc[start["label"] == "untrained [CLS]", tables.METRIC]
    good, harmed = (
        runs.loc[runs["label"] == f"{decay}, {pace}", tables.LAST].astype(float)
        for decay in ("0.85", "0")
    )
    if not len(good) or not len(harmed) or not len(start):
        return "The range of these runs: they are being made."
    gain, harm = good.mean() - start.mean(), good.mean() - harmed.mean()
    return (
        f"At the pace (rate {pace}) a decay of 0.85 ends {gain:.1f} points above its "
        f"own untrained [CLS] and {harm:.1f} above decay 0; over {len(good)} seeds its "
        f"standard deviation is {good.std():.1f}."
    )
