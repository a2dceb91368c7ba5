"""The seven transfer tasks (SentEval: Conneau and Kiela 2018): labelled sentences.

They come from the folder that MOCOSE_DATA names (`--data`), each from its own file.
What it lacks comes from the archive that the authors of SimCSE keep on the hub, in
SentEval's own formats.
"""

import tarfile

import pandas as pd

from mocose_study.config import InputError

from .benchmarks import read_table
from .files import read_csv
from .sources import from_hub, local

ARCHIVE = "senteval.tar"
ONE, TWO = ["split", "label", "sentence"], ["split", "label", "sentence1", "sentence2"]
SPLITS = ({"all"}, {"train", "test"}, {"train", "dev", "test"})
IN_ARCHIVE = read_csv(__package__, "senteval")  # files, and the label of all lines
TRANSFER = tuple(dict.fromkeys(row["task"] for row in IN_ARCHIVE))
UTF8 = ("SST2", "MRPC")  # the other files are Latin-1


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
    coding = "utf-8" if name in UTF8 else "latin-1"
    header = name == "MRPC"  # its files alone have one
    path, rows = from_hub(ARCHIVE), []
    try:
        with tarfile.open(path) as archive:
            names = [member.name for member in archive if member.isfile()]
            for row in (row for row in IN_ARCHIVE if row["task"] == name):
                (member,) = (n for n in names if f"/{n}".endswith(f"/{row['file']}"))
                text = archive.extractfile(member).read().decode(coding)
                lines = text.removesuffix("\n").split("\n")[header:]
                cells = (_cells(name, row["label"], line) for line in lines)
                rows += [(row["split"], *texts) for texts in cells]
        return pd.DataFrame(rows, columns=TWO if header else ONE)
    except (tarfile.TarError, ValueError, IndexError) as cause:
        raise InputError(
            f"the hub's {ARCHIVE} does not hold {name} in SentEval's form ({cause}); "
            "give a local folder with --data."
        ) from cause


def _cells(name: str, label: str, line: str) -> list[str]:
    """The label of a line, and its sentence or sentences."""
    texts = [line]
    if name == "SST2":
        *texts, label = line.split("\t")
    elif name == "TREC":  # "DESC:manner How did serfdom develop": the class is DESC
        label, sentence = line.split(":", 1)
        texts = [sentence.split(" ", 1)[1]]
    elif name == "MRPC":  # label, two numbers, two sentences
        label, _, _, *texts = line.split("\t")
    return [label.strip(), *(" ".join(text.split()) for text in texts)]
