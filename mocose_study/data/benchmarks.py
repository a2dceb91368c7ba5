"""The STS tasks: pairs of sentences with their gold scores.

The benchmark "open" comes with the package: pairs of image captions and of
translations, with the scores that people gave them. "sample" is a part of it, for
tests. "real" is the papers' seven tasks, from the data folder or, at the revisions of
`tasks.toml`, from the hub. A benchmark of one's own is tab-separated files.
"""

from functools import cache
from pathlib import Path

import datasets
import numpy as np
import pandas as pd

from mocose_study.config import InputError, read_toml

from .corpora import read_lines
from .files import shipped
from .sources import asking_the_hub, data_file, digest, local, sha256

OPEN_DEV = "images2014"
OPEN_TESTS = ("images2015", "snli2017", "postediting2016")
SAMPLE = 60  # pairs of each open task
OUTSIDE = ("SICK-R", "STS-B")  # tasks with pairs for training, which nothing trains on
BENCHMARKS = ("open", "sample", "real")
PAIR_COLUMNS = ("score", "sentence1", "sentence2")
QUOTED = "has a cell in CSV's quotes (pandas writes none with quoting=csv.QUOTE_NONE)"
STS = read_toml(__package__, "tasks")["sts"]
Tables = dict[str, pd.DataFrame]  # by the task's name and split


def read_table(path: Path) -> pd.DataFrame:
    """A tab-separated file without quoting, all cells as text.

    Raises InputError as `read_lines`, and, naming file and line, where the last line
    is cut off, or a row is not as long as the header.
    """
    lines = list(read_lines(path))
    rows = [line.rstrip("\r\n").split("\t") for line in lines]
    if not rows or len(set(rows[0])) < len(rows[0]):
        raise InputError(f"{path} is no tab-separated text with a header of names.")
    if not lines[-1].endswith("\n"):
        raise InputError(f"{path} is cut off in line {len(lines)}: no line break.")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            what = f"has {len(row)} cells in line {number}"
            raise InputError(f"{path} {what}, but its header has {len(rows[0])}.")
    return pd.DataFrame(rows[1:], columns=rows[0], dtype=str)


def read_pairs(path: Path) -> pd.DataFrame:
    """A file of scored pairs: columns score, sentence1, sentence2, and perhaps subset.

    Raises InputError, naming file and line, on a missing column, an empty sentence or
    subset, a cell in CSV's quotes, and a score that is no finite number; and where all
    scores are equal. A file that has not changed is read once in a process.
    """
    return _read_pairs(path, sha256(path)).copy()


@cache
def _read_pairs(path: Path, content: str) -> pd.DataFrame:
    frame = read_table(path)
    if lost := [column for column in PAIR_COLUMNS if column not in frame]:
        needed = f"it needs {', '.join(PAIR_COLUMNS)}, with tabs between them."
        raise InputError(f"{path} has no column {lost[0]!r}; {needed}")
    score = pd.to_numeric(frame["score"], errors="coerce").astype(float)
    empty = frame.map(str.strip).eq("")
    quoted = frame.apply(lambda column: column.str.fullmatch('".*"".*"'))
    wrong = {
        "has a score that is no number": ~np.isfinite(score),
        "has an empty sentence": empty["sentence1"] | empty["sentence2"],
        "has an empty subset": empty.get("subset", empty["sentence1"]),
        QUOTED: quoted.any(axis=1),
    }
    for what, rows in wrong.items():
        if rows.any():
            raise InputError(f"{path} {what} in line {rows.idxmax() + 2}.")
    if score.nunique() < 2:
        raise InputError(f"{path} has {len(frame)} pairs, scores that are all equal.")
    return frame.assign(score=score)


def sts_pairs(task: str, split: str = "test", benchmark: str = "real") -> pd.DataFrame:
    """Pairs of an STS task: columns score, sentence1, sentence2, and perhaps subset."""
    if benchmark != "real":
        frame = read_pairs(data_file(f"open/{task}.tsv", own=False))
        return frame.head(SAMPLE) if benchmark == "sample" else frame
    if here := local(STS[task]["file"].format(split=split)):
        return read_pairs(here)
    there = "validation" if split == "dev" else split
    at = {"split": there, "revision": STS[task]["revision"]}
    with asking_the_hub(f"give {task}, which is not in the data folder"):
        frame = datasets.load_dataset(STS[task]["repository"], **at).to_pandas()
    frame = frame.assign(subset=frame.get("genre", task))[["subset", *PAIR_COLUMNS]]
    return sickr_test(frame) if (task, split) == ("SICK-R", "test") else frame


def sickr_test(frame: pd.DataFrame) -> pd.DataFrame:
    """The 4,927 test pairs among the 9,927 that the hub calls "test".

    Raises InputError when they are not all there.
    """
    named = set((shipped("paper") / "sickr_test_pairs.txt").read_text().split())
    digests = pd.Series(pair_digests(frame), frame.index)
    kept = frame[digests.isin(named) & ~digests.duplicated()].reset_index(drop=True)
    if len(kept) < len(named):
        what = f"only {len(kept)} of the {len(named)} test pairs"
        raise InputError(f"the hub's SICK-R has {what}.")
    return kept


def pair_digests(frame: pd.DataFrame) -> list[str]:
    """Twelve digits for every pair with its score."""
    rows = zip(frame["sentence1"], frame["sentence2"], frame["score"], strict=True)
    return [digest(f"{a}\t{b}\t{score:.3f}")[:12] for a, b, score in rows]


def files_of(benchmark: str) -> list[str]:
    """The files of a benchmark: paths, or names as data/SHA256SUMS has them."""
    if benchmark == "real":
        splits = ("dev", "test")
        named = (row["file"].format(split=s) for row in STS.values() for s in splits)
        return list(dict.fromkeys(named))
    if benchmark in BENCHMARKS:
        return [f"open/{task}.tsv" for task in (OPEN_DEV, *OPEN_TESTS)]
    return own_files(benchmark)


def own_files(names: str) -> list[str]:
    """The files of "a.tsv,b.tsv"; one file alone may have commas in its name."""
    return [names] if Path(names).is_file() else names.split(",")


def test_tables(benchmark: str) -> Tables:
    """The test split of every task: what `mocose_lib.evaluate` takes.

    `benchmark` is one of BENCHMARKS, or one's own files, separated by commas.
    """
    if benchmark not in BENCHMARKS:
        return _own_tables(benchmark, "test")
    tasks = STS if benchmark == "real" else OPEN_TESTS
    return {f"{task} test": sts_pairs(task, "test", benchmark) for task in tasks}


def dev_tables(benchmark: str, dev: str = "") -> Tables:
    """The pairs that choose checkpoints, in the same form: those of the file `dev`.

    Without `dev` they are STS-B dev of "real", and the captions of 2014 of all others.
    """
    if dev:
        return _own_tables(dev, "dev")
    task = "STS-B" if benchmark == "real" else OPEN_DEV
    return {f"{task} dev": sts_pairs(task, "dev", benchmark)}


def unseen(tables: Tables, benchmark: str) -> Tables:
    """The pairs that occur, word for word, in no test table of the benchmark."""

    def pairs(table: pd.DataFrame) -> list[frozenset]:
        return list(map(frozenset, table[["sentence1", "sentence2"]].to_numpy()))

    tested = {pair for t in test_tables(benchmark).values() for pair in pairs(t)}
    return {k: t[[pair not in tested for pair in pairs(t)]] for k, t in tables.items()}


def outside_tables() -> Tables:
    """Scored pairs of which the seven tasks have none: what people graded for training.

    None without a data folder, since the hub has no such part of SICK-R.
    """
    files = {task: local(STS[task]["file"].format(split="train")) for task in OUTSIDE}
    tables = {f"{task} train": read_pairs(path) for task, path in files.items() if path}
    return unseen(tables, "real") if tables else {}


def _own_tables(names: str, split: str) -> Tables:
    """Tables of files of one's own, each named after its file."""
    files = own_files(names)
    for name in (name for name in files if not Path(name).is_file()):
        what = f"there is no benchmark {name!r}; choose one of {', '.join(BENCHMARKS)}"
        raise InputError(f"{what}, or give a file.")
    tables = {f"{Path(x).stem} {split}": read_pairs(Path(x)) for x in files}
    if len(tables) < len(files):
        raise InputError(f"two files of {names!r} have the same name; rename one.")
    return tables
