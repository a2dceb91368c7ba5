"""The seven transfer tasks (SentEval: Conneau and Kiela 2018), as tables of labelled sentences.

They come from the folder MOCOSE_DATA names (`--data`), each from a file of its own. What it lacks
comes from the archive that the authors of SimCSE keep on the hub, in SentEval's own formats.
"""

import tarfile

import pandas as pd

from mocose_study.config import InputError, choose

from .benchmarks import read_table
from .sources import from_hub, local

ARCHIVE = "senteval.tar"
LABELLED_COLUMNS = (
    ["split", "label", "sentence"],
    ["split", "label", "sentence1", "sentence2"],
)
LABELLED_SPLITS = ({"all"}, {"train", "test"}, {"train", "dev", "test"})
IN_ARCHIVE = {  # by task: the folder, and (file, split, the label of all its lines)
    "MR": ("MR", ("rt-polarity.pos", "all", "1"), ("rt-polarity.neg", "all", "0")),
    "CR": ("CR", ("custrev.pos", "all", "1"), ("custrev.neg", "all", "0")),
    "SUBJ": ("SUBJ", ("subj.objective", "all", "1"), ("subj.subjective", "all", "0")),
    "MPQA": ("MPQA", ("mpqa.pos", "all", "1"), ("mpqa.neg", "all", "0")),
    "SST2": (
        "SST/binary",
        *((f"sentiment-{s}", s, "") for s in ("train", "dev", "test")),
    ),
    "TREC": ("TREC", ("train_5500.label", "train", ""), ("TREC_10.label", "test", "")),
    "MRPC": ("MRPC", *((f"msr_paraphrase_{s}.txt", s, "") for s in ("train", "test"))),
}
TRANSFER = tuple(IN_ARCHIVE)
UTF8 = ("SST2", "MRPC")  # the other files are Latin-1


def transfer_tasks() -> dict[str, pd.DataFrame]:
    """`transfer_task` of all seven, by name."""
    return {name: transfer_task(name) for name in TRANSFER}


def transfer_task(name: str) -> pd.DataFrame:
    """One transfer task: columns split, label (text), and sentence or sentence1, sentence2.

    Splits are "all" (to be cross-validated), or "train", "test" and perhaps "dev". Raises
    InputError when the task is unknown, or its file damaged, not of this form, or nowhere.
    """
    choose(IN_ARCHIVE, name, "transfer task")
    path = local(file := f"transfer/{name}.tsv")
    frame = read_table(path) if path else from_archive(name)
    if list(frame) not in LABELLED_COLUMNS:
        raise InputError(
            f"{file} has columns {list(frame)}; it needs {LABELLED_COLUMNS[0]}, "
            "or sentence1 and sentence2 in place of sentence."
        )
    if (frame == "").any(axis=None):
        raise InputError(f"{file} has an empty cell: a row was cut off.")
    if set(frame["split"]) not in LABELLED_SPLITS:
        raise InputError(
            f"{file} has the splits {sorted(set(frame['split']))}; it needs 'all', or "
            "'train', 'test' and perhaps 'dev'."
        )
    if frame["label"].nunique() < 2:
        raise InputError(
            f"{file} has fewer than two labels; there is nothing to tell apart."
        )
    return frame


def from_archive(name: str) -> pd.DataFrame:
    """A task of the hub's archive. Raises InputError when it is not there, or not as SentEval's."""
    folder, *files = IN_ARCHIVE[name]
    coding = "utf-8" if name in UTF8 else "latin-1"
    pairs = name == "MRPC"  # its files alone have a header
    path = from_hub(ARCHIVE)
    try:
        with tarfile.open(path) as archive:
            members = [member for member in archive if member.isfile()]
            rows = []
            for file, split, label in files:
                (member,) = (
                    m for m in members if f"/{m.name}".endswith(f"/{folder}/{file}")
                )
                text = archive.extractfile(member).read().decode(coding)
                lines = text.removesuffix("\n").split("\n")[pairs:]
                rows += [(split, *_cells(name, label, line)) for line in lines]
        return pd.DataFrame(rows, columns=LABELLED_COLUMNS[pairs])
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
    elif (
        name == "TREC"
    ):  # "DESC:manner How did serfdom develop": the coarse class counts
        label, sentence = line.split(":", 1)
        texts = [sentence.split(" ", 1)[1]]
    elif name == "MRPC":  # label, two numbers, two sentences
        label, _, _, *texts = line.split("\t")
    return [label.strip(), *(" ".join(text.split()) for text in texts)]
