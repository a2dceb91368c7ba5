"""Text to train on: where corpora come from, and their token ids.

The corpus "open" comes with the package. Others are read from the folder MOCOSE_DATA names
(`--data`) or, without one, from the hub. A corpus of one's own is a file with one sentence a line
(.txt, .txt.xz, .txt.gz) or a data set of the hub ("owner/name", column sentence or text). Texts
and token ids live in Arrow files, memory-mapped, cached under data/cache by content.
"""

import gzip
import hashlib
import itertools
import json
import logging
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from mocose_study.config import InputError

from . import sources
from .atomic import temporary, write_atomically
from .files import cache_folder
from .sources import ON_HUB, checked, folder, local, open_file, sha256

log = logging.getLogger(__name__)
OPENERS = {".xz": lzma.open, ".gz": gzip.open}
UNREADABLE = (OSError, lzma.LZMAError, zlib.error, UnicodeDecodeError, EOFError)
BATCH = 20_000  # sentences that are read, or tokenised, at once
DIGITS = 16  # of a key of the cache, and of the digest of a file's content
CORPORA = {  # files of the data folder, or of ON_HUB; one sentence a line
    "open": ["open/wikipedia.txt.xz"],
    "wiki900k": [f"corpus/wiki_sentences_{i:02}.txt.xz" for i in range(9)],
    "wiki_documents": [f"corpus/wiki_documents_{i:02}.txt.xz" for i in range(10)],
    "wiki1m": ["wiki1m_for_simcse.txt"],
}


def text_lines(paths: Sequence[Path]) -> Iterator[str]:
    """The stripped lines of text files, plain or compressed; an empty line ends each file.

    Byte order marks are left out.

    Raises InputError, with file and line, where a file is no UTF-8 text or is cut off.
    """
    for path in paths:
        number = 0
        try:
            with OPENERS.get(path.suffix, open)(path, "rb") as file:
                for number, line in enumerate(file, 1):
                    if b"\0" in line:
                        raise InputError(
                            f"{path} is no text: line {number} holds a NUL byte."
                        )
                    yield line.decode("utf-8").removeprefix("\ufeff").strip()
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
    if set(files) <= ON_HUB.keys():
        return [local(file) or sources.from_hub(file) for file in files]
    if not (data := folder()):
        raise InputError(
            f"corpus {name!r} needs a data folder; give --data or MOCOSE_DATA."
        )
    return [checked(data, file) for file in files]


def hub_name(name: str) -> bool:
    """Whether a corpus can only be a data set of the hub: "owner/name", and no file."""
    path = Path(name)
    local = path.parent.is_dir() or path.suffix in (".txt", *OPENERS)
    return name not in CORPORA and name.count("/") == 1 and not local


def _hub_lines(name: str, revision: str | None) -> Iterator[str]:
    if revision is None:
        raise InputError(
            f"corpus {name!r} is no file, and the hub does not know it or is away."
        )
    with sources.asking_the_hub(f"give the corpus {name!r}", "give a text file"):
        found = datasets.load_dataset(name, split="train", revision=revision)
    column = next((c for c in ("sentence", "text") if c in found.column_names), None)
    if column is None:
        raise InputError(
            f"data set {name!r} of the hub has no column 'sentence' or 'text'."
        )
    return (
        line.strip()
        for text in found[column]
        for line in text.splitlines()
        if line.strip()
    )


def load_corpus(name: str, size: int) -> datasets.Dataset:
    """The first `size` sentences of a corpus: columns sentence and document.

    Raises InputError on an unknown name, too few sentences, and a single one that is repeated.
    """
    if hub_name(name):
        revision = sources.revision_on_hub(name, "dataset")
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
            f"corpus_size = {size}, but corpus {name!r} has {len(corpus)} sentences."
        )
    if len(corpus.data.table.column("sentence")[:BATCH].unique()) < 2:
        raise InputError(
            f"corpus {name!r} repeats one sentence; there is nothing to contrast."
        )
    return corpus


def tokenized(
    corpus: datasets.Dataset, tokenizer, max_length: int | None
) -> datasets.Dataset:
    """Token ids of every sentence: columns input_ids, length (and the corpus's other ones)."""

    def batches() -> Iterator[dict]:
        for batch in corpus.iter(BATCH):
            ids = ids_of(tokenizer, batch.pop("sentence"), max_length)
            yield batch | {
                "input_ids": pa.array(ids, pa.list_(pa.int32())),
                "length": pa.array(map(len, ids), pa.int32()),
            }

    settings = json.loads(tokenizer.backend_tokenizer.to_str())
    settings |= {
        "truncation": tokenizer.truncation_side,
        "padding": None,
    }  # not its last call's
    return stored(cache_key("ids", corpus._fingerprint, settings, max_length), batches)


def ids_of(tokenizer, sentences: list[str], max_length: int | None) -> list[list[int]]:
    """With `max_length` special tokens are added and long sentences cut; without, neither."""
    cut = max_length is not None
    options = {"add_special_tokens": cut, "truncation": cut, "max_length": max_length}
    rest = {
        "return_attention_mask": False,
        "return_token_type_ids": False,
        "verbose": False,
    }
    return tokenizer(sentences, **options, **rest)["input_ids"]


def column(ids, name: str) -> np.ndarray:
    """A column of numbers of a Dataset at once; its own iterator would take minutes."""
    return ids.data.table.column(name).to_numpy()


def cache_key(*parts) -> str:
    """A name for what is made of `parts`."""
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:DIGITS]


def stored(key: str, batches: Callable[[], Iterable[dict]]) -> datasets.Dataset:
    """A memory-mapped Dataset of all batches (columns by name), made once for each `key`.

    The file is called <key>.<digest of its content>.arrow. A damaged one is dropped and made
    anew; the log says so. Raises InputError when the folder cannot be written, and whatever
    `batches` raises.
    """
    for path in cache_folder().glob(f"{key}.*.arrow"):
        if sha256(path)[:DIGITS] == path.name.split(".")[1]:
            return _opened(path, key)
        log.warning("the cached table %s is damaged; it is made anew", path.name)
        path.unlink()
    new = temporary(cache_folder() / f"{key}.arrow")  # another process may make it, too
    try:
        made = write_atomically(new, lambda part: _write(part, batches()))
    except OSError as cause:
        why = f"{cache_folder()} cannot be written ({cause.strerror or cause})"
        raise InputError(
            f"{why}; free its disk, or let MOCOSE_STUDY name another folder."
        ) from cause
    return _opened(
        made.replace(made.with_name(f"{key}.{sha256(made)[:DIGITS]}.arrow")), key
    )


def _opened(path: Path, key: str) -> datasets.Dataset:
    return datasets.Dataset(
        datasets.table.MemoryMappedTable.from_file(str(path)), fingerprint=key
    )


def _write(path: Path, batches: Iterable[dict]) -> None:
    tables = map(pa.table, batches)
    first = next(tables, pa.table({}))
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, first.schema) as writer,
    ):
        for table in itertools.chain([first], tables):
            writer.write_table(table)
