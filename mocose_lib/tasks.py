"""Labelled tables: the STS tasks' pairs with their gold scores, and the transfer tasks.

Read from the folder MOCOSE_DATA names (`--data`) or, without one, the STS tasks from the hub, at
pinned revisions. Those of generated English need neither.
"""

from pathlib import Path

import datasets
import pandas as pd

from . import data, world
from .config import StudyError, choose
from .files import write_atomically
from .sources import checked, folder, sha256

ROWS_GENERATED = {"generated": 500, "sample": 60}  # of every generated task; a sample for tests

# STS tasks: file (or files of splits) in the data folder; repository and revision on the hub.
STS = {
    "STS12": ("sts/STS12.tsv", "mteb/sts12-sts", "a0d554a64d88156834ff5ae9920b964011b16384"),
    "STS13": ("sts/STS13.tsv", "mteb/sts13-sts", "7e90230a92c190f1bf69ae9002b8cea547a64cca"),
    "STS14": ("sts/STS14.tsv", "mteb/sts14-sts", "6031580fec1f6af667f0bd2da0a551cf4f0b2375"),
    "STS15": ("sts/STS15.tsv", "mteb/sts15-sts", "ae752c7c21bf194d8b67fd573edf7ae58183cbe3"),
    "STS16": ("sts/STS16.tsv", "mteb/sts16-sts", "4d8694f8f0e0100860b497b999b3dbed754a0513"),
    "STS-B": ("sts/STSB.{split}.tsv", "mteb/stsbenchmark-sts",
              "b0fddb56ed78048fa8b90373c8a3cfc37b684831"),
    "SICK-R": ("sts/SICKR.{split}.tsv", "mteb/sickr-sts",
               "20a6d6f312dd54037fe07a32d58e5e168867909d"),
}  # fmt: skip
HUB_SPLITS = {"dev": "validation", "test": "test", "train": "train"}
PAIR_COLUMNS = ("subset", "score", "sentence1", "sentence2")


def read_pairs(path: Path) -> pd.DataFrame:
    """An STS file. Raises StudyError on wrong columns, missing texts or scores outside 0-5."""
    frame = read_table(path)
    if tuple(frame.columns) != PAIR_COLUMNS:
        raise StudyError(f"{path.name} has columns {list(frame)}; it needs {list(PAIR_COLUMNS)}.")
    frame["score"] = pd.to_numeric(frame["score"], errors="coerce")
    if not frame["score"].between(0, 5).all():
        raise StudyError(f"{path.name} has a score that is no number from 0 to 5.")
    return frame


def read_table(path: Path) -> pd.DataFrame:
    """A tab-separated file without quoting, all cells as text."""
    try:
        return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, dtype=str)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as cause:
        raise StudyError(f"{path.name} is no readable tab-separated file: {cause}.") from cause


def _kept(make, task: str, n: int, **more) -> pd.DataFrame:
    """make(task, n, ...), a table of generated English, kept on disk: making it takes seconds."""
    key = data.cache_key(make.__name__, task, n, *more.values(), *map(sha256, data.WORLD_FILES))
    if not (path := data.CACHE / f"{key}.feather").exists():
        write_atomically(path, make(task, n, **more).to_feather)
    return pd.read_feather(path)


def sts_pairs(task: str, split: str = "test", benchmark: str = "real") -> pd.DataFrame:
    """Pairs of one STS task: columns subset, score (0-5), sentence1, sentence2."""
    if rows := ROWS_GENERATED.get(benchmark):
        return _kept(world.sts_pairs, task, rows, split=split)
    file, repository, revision = choose(STS, task, "STS task")
    if local := folder():
        return read_pairs(checked(local, file.format(split=split.lower())))
    try:
        found = datasets.load_dataset(repository, split=HUB_SPLITS[split], revision=revision)
    except OSError as cause:
        raise StudyError(
            f"{task} is not on this machine and the hub did not give it ({type(cause).__name__}); "
            "give a local folder with --data."
        ) from cause
    frame = found.to_pandas()
    frame["subset"] = frame.get("genre", task)
    return frame[list(PAIR_COLUMNS)]


def sts_tasks(benchmark: str) -> tuple[str, ...]:
    """Names of the seven STS tasks, in the papers' order."""
    return tuple(STS) if benchmark == "real" else world.STS_TASKS


def dev_task(benchmark: str) -> str:
    return "STS-B" if benchmark == "real" else world.DEV_TASK


TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
LABELLED_COLUMNS = (("split", "label", "sentence"), ("split", "label", "sentence1", "sentence2"))
LABELLED_SPLITS = ({"all"}, {"train", "test"}, {"train", "dev", "test"})


def transfer_tasks(benchmark: str) -> tuple[str, ...]:
    """Names of the transfer tasks, in the papers' order."""
    return TRANSFER if benchmark == "real" else world.TRANSFER_TASKS


def transfer_task(name: str, benchmark: str = "real") -> pd.DataFrame:
    """One transfer task: columns split, label (text), and sentence or sentence1, sentence2.

    Splits are "all" (to be cross-validated), or "train", "test" and perhaps "dev". Raises
    StudyError when the task is unknown, its file missing, damaged or not of this form.
    """
    if name not in transfer_tasks(benchmark):
        raise StudyError(
            f"there is no transfer task {name!r}; choose one of {', '.join(transfer_tasks(benchmark))}."
        )
    if rows := ROWS_GENERATED.get(benchmark):
        return _kept(world.classification, name, rows)
    if (local := folder()) is None:
        raise StudyError(f"transfer task {name} needs a data folder; give --data or MOCOSE_DATA.")
    return check_labelled(read_table(checked(local, f"transfer/{name}.tsv")), f"{name}.tsv")


def check_labelled(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """`frame` itself. Raises StudyError on wrong columns or splits, empty cells, a single label."""
    if tuple(frame.columns) not in LABELLED_COLUMNS:
        raise StudyError(f"{name} has columns {list(frame)}; it needs {list(LABELLED_COLUMNS[0])}, "
                         "or sentence1 and sentence2 in place of sentence.")  # fmt: skip
    if frame.isna().any(axis=None) or (frame == "").any(axis=None):
        raise StudyError(f"{name} has an empty cell: a row was cut off.")
    if set(frame["split"]) not in LABELLED_SPLITS:
        raise StudyError(f"{name} has the splits {sorted(set(frame['split']))}; it needs 'all', or "
                         "'train', 'test' and perhaps 'dev'.")  # fmt: skip
    if frame["label"].nunique() < 2:
        raise StudyError(f"{name} has fewer than two labels; there is nothing to tell apart.")
    return frame
