"""Text to train on: where corpora come from, and their token ids.

The corpus "open" comes with the package. Others are read from the folder MOCOSE_DATA names
(`--data`) or, without one, from the hub. A corpus of one's own is a file with one sentence a line
(.txt, .txt.xz, .txt.gz) or a data set of the hub ("owner/name", column sentence or text). Texts
and token ids live in Arrow files, memory-mapped, cached under data/cache by content.
"""

import gzip
import itertools
import lzma
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from mocose_study.config import InputError

from .cache import cache_key, stored
from .sources import ON_HUB, checked, folder, from_hub, local, open_file, revision_on_hub, sha256
from .tokens import settings_of, token_ids

OPENERS = {".xz": lzma.open, ".gz": gzip.open}
UNREADABLE = (lzma.LZMAError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError, EOFError)
BATCH = 20_000  # sentences that are read, or tokenised, at once
CORPORA = {  # files of the data folder, or of ON_HUB; one sentence a line
    "open": ["open/wikipedia.txt.xz"],
    "wiki900k": [f"corpus/wiki_sentences_{i:02}.txt.xz" for i in range(9)],
    "wiki_documents": [f"corpus/wiki_documents_{i:02}.txt.xz" for i in range(10)],
    "wiki1m": ["wiki1m_for_simcse.txt"],
}


def text_lines(paths: Sequence[Path]) -> Iterator[str]:
    """The stripped lines of text files, plain or compressed; an empty line ends each file.

    Raises InputError, with file and line, where a file is no UTF-8 text or is cut off.
    """
    for path in paths:
        number = 0
        try:
            with OPENERS.get(path.suffix, open)(path, "rb") as file:
                for number, line in enumerate(file, 1):
                    if b"\0" in line:
                        raise InputError(f"{path} is no text: line {number} holds a NUL byte.")
                    yield line.decode("utf-8").strip()
        except UNREADABLE as cause:
            raise InputError(
                f"{path} cannot be read as UTF-8 text after line {number}: {cause}."
            ) from cause
        yield ""


def _rows(lines: Iterator[str]) -> Iterator[tuple[str, int]]:
    """Sentences with the number of their document; an empty line ends a document."""
    document = 0
    for line in lines:
        if line:
            yield line, document
        else:
            document += 1


def corpus_files(name: str) -> list[Path]:
    """The files of a corpus by its name in CORPORA, or a text file of one's own."""
    if name not in CORPORA and Path(name).is_file():
        return [Path(name)]
    if name not in CORPORA:
        raise InputError(
            f"there is no corpus {name!r}; choose one of {', '.join(CORPORA)}, or give a text file."
        )
    files = CORPORA[name]
    if name == "open":
        return [open_file(Path(file).name) for file in files]
    on_hub = ON_HUB.keys() >= set(files)
    if (data := folder()) and (not on_hub or all(map(local, files))):
        return [checked(data, file) for file in files]
    if not on_hub:
        raise InputError(f"corpus {name!r} needs a data folder; give --data or MOCOSE_DATA.")
    return [from_hub(file) for file in files]


def hub_name(name: str) -> bool:
    """Whether a corpus can only be a data set of the hub: "owner/name", and no file."""
    path = Path(name)
    local = path.parent.is_dir() or path.suffix in (".txt", *OPENERS)
    return name not in CORPORA and name.count("/") == 1 and not local


def _hub_lines(name: str, revision: str | None) -> Iterator[str]:
    if revision is None:
        raise InputError(f"corpus {name!r} is no file, and the hub does not know it or is away.")
    found = datasets.load_dataset(name, split="train", revision=revision)
    column = next((c for c in ("sentence", "text") if c in found.column_names), None)
    if column is None:
        raise InputError(f"data set {name!r} of the hub has no column 'sentence' or 'text'.")
    return (line.strip() for text in found[column] for line in text.splitlines() if line.strip())


def load_corpus(name: str, size: int) -> datasets.Dataset:
    """The first `size` sentences of a corpus: columns sentence and document.

    Raises InputError on an unknown name, too few sentences, and a single one that is repeated.
    """
    if hub_name(name):
        revision = revision_on_hub(name, "dataset")
        content, lines = [name, revision], lambda: _hub_lines(name, revision)
    else:
        paths = corpus_files(name)
        content, lines = map(sha256, paths), lambda: text_lines(paths)

    def batches() -> Iterator[dict]:
        rows = itertools.islice(_rows(lines()), size)
        while batch := list(itertools.islice(rows, BATCH)):
            sentences, documents = zip(*batch, strict=True)
            yield {"sentence": sentences, "document": documents}

    corpus = stored(cache_key("rows", size, *content), batches)
    if len(corpus) < size:
        raise InputError(
            f"corpus {name!r} has {len(corpus)} sentences; corpus_size = {size} is too many."
        )
    if len(corpus.data.table.column("sentence")[:BATCH].unique()) < 2:
        raise InputError(f"corpus {name!r} repeats one sentence; there is nothing to contrast.")
    return corpus


def tokenized(corpus: datasets.Dataset, tokenizer, max_length: int | None) -> datasets.Dataset:
    """Token ids of every sentence: columns input_ids, length (and the corpus's other ones).

    With `max_length` special tokens are added and long sentences cut; without, neither.
    """

    def batches() -> Iterator[dict]:
        ids_of = token_ids(tokenizer, max_length)
        for batch in corpus.iter(BATCH):
            ids = ids_of(batch.pop("sentence"))
            yield batch | {
                "input_ids": pa.array(ids, pa.list_(pa.int32())),
                "length": pa.array(map(len, ids), pa.int32()),
            }

    key = cache_key("ids", corpus._fingerprint, settings_of(tokenizer), max_length)
    return stored(key, batches)


def column(ids, name: str) -> np.ndarray:
    """A column of numbers of a Dataset at once; its own iterator would take minutes."""
    return ids.data.table.column(name).to_numpy()
