"""The seven transfer tasks (SentEval: Conneau and Kiela 2018): labelled sentences.

What the data folder lacks comes from the archive that the authors of SimCSE keep on
the hub, in SentEval's own formats.
"""

import tarfile

import pandas as pd

from mocose_study.config import InputError, read_toml

from .benchmarks import read_table
from .sources import from_hub, local

ARCHIVE = "senteval.tar"
ONE, TWO = ["split", "label", "sentence"], ["split", "label", "sentence1", "sentence2"]
SPLITS = ({"all"}, {"train", "test"}, {"train", "dev", "test"})
TASKS = read_toml(__package__, "tasks")["transfer"]
TRANSFER = tuple(TASKS)


def transfer_tasks() -> dict[str, pd.DataFrame]:
    """`transfer_task` of all seven, by name."""
    return {name: transfer_task(name) for name in TRANSFER}


def transfer_task(name: str) -> pd.DataFrame:
    """One transfer task: columns split, label (text), and sentence or sentence1, 2.

    Splits are "all" (to be cross-validated), or "train", "test" and perhaps "dev".
    Raises InputError when its file is damaged, of another form, or nowhere.
    """
    path = local(file := f"transfer/{name}.tsv")
    frame = read_table(path) if path else from_archive(name)
    columns, splits = list(frame), set(frame.get("split", ()))
    right = {
        f"columns {columns}; it needs {ONE} or {TWO}": columns in (ONE, TWO),
        "an empty cell: a row was cut off": not (frame == "").any(axis=None),
        f"the splits {sorted(splits)}; it needs one of {SPLITS}": splits in SPLITS,
        "fewer than two labels": frame.get("label", pd.Series()).nunique() > 1,
    }
    for what in (text for text, holds in right.items() if not holds):
        raise InputError(f"{file} has {what}.")
    return frame


def from_archive(name: str) -> pd.DataFrame:
    """A task of the hub's archive. Raises InputError when it has another form."""
    task, path, parts = TASKS[name], from_hub(ARCHIVE), []
    try:
        with tarfile.open(path) as archive:
            names = [member.name for member in archive if member.isfile()]
            for file, of_all in task["files"].items():
                (member,) = (n for n in names if f"/{n}".endswith(f"/{file}"))
                text = archive.extractfile(member).read().decode(task["coding"])
                lines = text.removesuffix("\n").split("\n")[task["header"] :]
                rows = pd.Series(lines).str.extract(task["line"])
                parts.append(rows.assign(**of_all))
        frame = pd.concat(parts, ignore_index=True)
        if frame.isna().any(axis=None):
            raise ValueError("a line has another form")
    except (tarfile.TarError, ValueError) as cause:
        raise InputError(
            f"the hub's {ARCHIVE} does not hold {name} in SentEval's form ({cause}); "
            "give a local folder with --data."
        ) from cause
    frame = frame.map(lambda cell: " ".join(cell.split()))
    return frame[TWO if "sentence2" in frame else ONE]
