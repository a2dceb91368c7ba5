"""The parts of the README that come from runs: `mocose readme` writes them anew.

A sentence is written by a person for each verdict. The numbers, and which sentence
holds, come from the runs.
"""

import re
from pathlib import Path

import pandas as pd

from mocose_study.claims.verdicts import NO_RUNS, SEEDS_NEEDED
from mocose_study.config import InputError, configure
from mocose_study.data.atomic import write_atomically
from mocose_study.sections import SECTIONS

from . import ledger, tables

PROFILE = "tiny"
NUMBERS = "{effect:+.1f} points, {low:+.1f} to {high:+.1f} at 95 %"
FINDINGS = {  # five claims, and what is said of each by its verdict
    "mocose-average-77": {
        "supported": f"MoCoSE is ahead of SimCSE ({NUMBERS}; the paper {{paper:+.1f}}).",
        "contradicted": f"MoCoSE is behind SimCSE ({NUMBERS}; the paper {{paper:+.1f}}).",
        "open": f"MoCoSE and SimCSE are too close to call ({NUMBERS}; the paper "
        "{paper:+.1f}).",
        "no runs": "MoCoSE beside SimCSE: runs are being made.",
    },
    "mocose-ema-needed": {
        "supported": f"Without the moving average training collapses: decay 0.85 against "
        f"decay 0 is {NUMBERS}.",
        "contradicted": f"Without the moving average training is better ({NUMBERS}).",
        "open": f"Whether training needs the moving average stays open ({NUMBERS}).",
        "no runs": "Training without the moving average: runs are being made.",
    },
    "mocose-ema-not-099": {
        "supported": f"The target should follow quickly: a decay of 0.85 beats 0.99 "
        f"({NUMBERS}; the paper {{paper:+.1f}}).",
        "contradicted": f"The target should follow slowly: 0.99 beats a decay of 0.85 "
        f"({NUMBERS}; the paper {{paper:+.1f}}).",
        "open": f"A decay of 0.85 against 0.99 stays open ({NUMBERS}; the paper "
        "{paper:+.1f}).",
        "no runs": "How fast the target should follow: runs are being made.",
    },
    "mocose-queue-4096-breaks": {
        "supported": f"A queue of 4,096 keys breaks the model: 512 against it is {NUMBERS} "
        "(the paper {paper:+.1f}).",
        "contradicted": f"A queue of 4,096 keys is better than one of 512 ({NUMBERS}; the "
        "paper {paper:+.1f}).",
        "open": f"A queue of 4,096 keys does not clearly break the model: 512 against it "
        f"is {NUMBERS} (the paper {{paper:+.1f}}).",
        "no runs": "The queue's length: runs are being made.",
    },
    "mocose-augment-fgsm-helps": {
        "supported": f"FGSM helps ({NUMBERS}; the paper {{paper:+.1f}}).",
        "contradicted": f"FGSM harms ({NUMBERS}; the paper {{paper:+.1f}}).",
        "open": "FGSM changes nothing that these seeds could see ({effect:+.3f} points, "
        "{low:+.3f} to {high:+.3f}; the paper {paper:+.1f}).",
        "no runs": "FGSM beside dropout: runs are being made.",
    },
}
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
    """Puts the blocks between their marks. Raises InputError where a mark is missing."""
    text = path.read_text(encoding="utf-8")
    for name, block in blocks().items():
        mark = f"<!-- {name} -->", f"<!-- /{name} -->"
        pattern = f"{mark[0]}.*?{mark[1]}"
        if not re.search(pattern, text, re.S):
            raise InputError(f"{path} has no place {mark[0]} … {mark[1]}.")
        new = "\n".join((mark[0], block, mark[1]))
        text = re.sub(pattern, lambda _, new=new: new, text, flags=re.S)
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def blocks() -> dict[str, str]:
    """The text of each block by its name."""
    judged = rows()
    return {
        "finding": finding(judged),
        "claims": claims(judged),
        "range": range_line(),
    }


def rows() -> dict[str, dict]:
    """The rows of the ledger that are told, by claim.

    Where seeds or runs of the known harm are still being made, they are as without runs.
    """
    told = {*FINDINGS, *CLAIMS}
    all_rules = ledger.rows()
    sections = all_rules.loc[all_rules["id"].isin(told), "section"].unique()
    table = ledger.judged(PROFILE, sections)
    early = table["n"].lt(SEEDS_NEEDED) | table["range"].str.endswith("has no runs")
    table["verdict"] = table["verdict"].mask(early, NO_RUNS)
    return {row["id"]: row for row in table.to_dict("records") if row["id"] in told}


def finding(judged: dict[str, dict]) -> str:
    """Five sentences; one that stands on no range says so."""
    lines = []
    for claim, sentences in FINDINGS.items():
        row = judged[claim]
        line = sentences[row["verdict"]].format(**row)
        if row["range"] and row["verdict"] != NO_RUNS:
            line += f" The section has no range: {row['range']}."
        lines.append(f"- {line}")
    return "\n".join(lines)


def claims(judged: dict[str, dict]) -> str:
    """A row a claim: the paper's sentence, ours, the paper's number, and the verdict."""
    lines = []
    for claim in CLAIMS:
        row = judged[claim]
        interval = f"{row['effect']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"
        name, lacks = row["notebook"], row["range"] and row["verdict"] != NO_RUNS
        lines.append(
            {
                "the paper says": f"{row['claim']} ({row['where'].split(', ')[1]})",
                "ours": "" if row["verdict"] == NO_RUNS else interval,
                "the paper's": "" if pd.isna(row["paper"]) else f"{row['paper']:+.1f}",
                "verdict": row["verdict"] + (" (no range)" if lacks else ""),
                "notebook": f"[{name[:2]}](notebooks/{name}.ipynb)",
            }
        )
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
        f"At the pace (rate {pace}) a decay of 0.85 ends {gain:.1f} points above its own "
        f"untrained [CLS] and {harm:.1f} above decay 0; over {len(good)} seeds its standard "
        f"deviation is {good.std():.1f}."
    )
