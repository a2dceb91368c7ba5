"""The parts of the README that come from runs: `mocose readme` writes them anew.

Their sentences are in `readme.toml`, written by a person.
"""

import re
from pathlib import Path

import pandas as pd

from mocose_study.claims.verdicts import NO_RUNS
from mocose_study.config import InputError, configure, read_toml
from mocose_study.data.atomic import write_atomically
from mocose_study.sections import SECTIONS

from . import ledger, tables

PROFILE = "tiny"
WRITTEN = read_toml(__package__, "readme")


def place(name: str) -> re.Pattern:
    """Finds the block of this name in the README, between its marks."""
    return re.compile(f"(?s)(?<=<!-- {name} -->\n).*?(?=\n<!-- /{name} -->)")


def write(path: Path) -> None:
    """Puts the blocks in their places. Raises InputError where one is missing."""
    text = path.read_text(encoding="utf-8")
    for name, block in blocks().items():
        text, replaced = place(name).subn(lambda _, block=block: block, text)
        if not replaced:
            what = f"<!-- {name} --> … <!-- /{name} -->"
            raise InputError(f"{path} has no place {what}.")
    write_atomically(path, text)


def blocks() -> dict[str, str]:
    """The text of each block by its name."""
    named = [finding["claim"] for finding in WRITTEN["findings"]]
    rules = ledger.rows()
    asked = rules.loc[rules["id"].isin([*named, *WRITTEN["claims"]]), "section"]
    judged = ledger.judged(PROFILE, asked.unique()).set_index("id", drop=False)
    table = claims_table(judged.loc[WRITTEN["claims"]])
    return {"finding": finding(judged), "claims": table, "range": range_line()}


def finding(judged: pd.DataFrame) -> str:
    """The sentences, with a warning where a section has no range."""
    lines = []
    for sentence in WRITTEN["findings"]:
        row = judged.loc[sentence["claim"]]
        line = ledger.sentence(judged, **sentence, form="+.1f").strip()
        if row["range"] and row["verdict"] == sentence["word"]:
            line += f" Read it with care, since {row['range']}."
        lines.append(f"- {line}")
    return "\n".join(lines)


def claims_table(judged: pd.DataFrame) -> str:
    """One row per claim: the paper's sentence, our number, the paper's, the verdict."""
    lines = []
    for row in judged.itertuples():
        ends = "" if pd.isna(row.low) else f" [{row.low:+.1f}, {row.high:+.1f}]"
        notes = [] if row.verdict == NO_RUNS else [row.range and "no range", row.reason]
        line = {
            "the paper says": f"{row.claim} ({row.table or row.source})",
            "ours": tables.signed(row.effect) + ends,
            "the paper's": tables.signed(row.paper),
            "verdict": row.verdict + "".join(f" ({note})" for note in notes if note),
            "notebook": f"[{row.notebook[:2]}](notebooks/{row.notebook}.ipynb)",
        }
        lines.append(line)
    return tables.markdown(pd.DataFrame(lines))


def range_line() -> str:
    """The range at the pace: gain over the start, the known harm, the spread."""
    pace = f"{configure(PROFILE).lr:g}"
    read = [tables.table_of(SECTIONS[x], PROFILE) for x in ("pace", "main_results")]
    ends = pd.concat(read).set_index("label")[tables.LAST].astype(float)
    labels = (f"0.85, {pace}", f"0, {pace}", "untrained [CLS]")
    if not {*labels} <= {*ends.index}:
        return "The range of these runs: they are being made."
    good, harmed, start = (ends[[label]] for label in labels)
    gain, harm = good.mean() - start.mean(), good.mean() - harmed.mean()
    numbers = {"pace": pace, "gain": gain, "harm": harm, "n": len(good)}
    return WRITTEN["range"].format(**numbers, sd=good.std())
