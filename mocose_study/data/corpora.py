"""Text to train on: where corpora come from, and their token ids.

The corpus "open" lies in this repository. Others are read from the folder MOCOSE_DATA names
(`--data`) or, without one, from the hub. Texts and token ids live in Arrow files (`datasets`),
memory-mapped, cached under data/cache by content.
"""

import hashlib
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np

from mocose_study.config import InputError, choose

from .files import cache_folder, study_folder
from .sources import checked, folder, from_hub, sha256

datasets.disable_progress_bars()


@dataclass(frozen=True)
class Corpus:
    """Unlabelled text: files of the data folder, and the same or a like text on the hub."""

    files: tuple[str, ...]  # below the data folder; xz or plain, one sentence a line
    hub: tuple[str, str, str] | None = None  # repository, file, revision


CORPORA = {
    "open": Corpus(("wikipedia.txt.xz",)),
    "wiki900k": Corpus(tuple(f"corpus/wiki_sentences_{i:02}.txt.xz" for i in range(9))),
    "wiki_documents": Corpus(tuple(f"corpus/wiki_documents_{i:02}.txt.xz" for i in range(10))),
    "wiki1m": Corpus(
        ("wiki1m_for_simcse.txt",),
        ("princeton-nlp/datasets-for-simcse", "wiki1m_for_simcse.txt", "main"),
    ),
}


def text_lines(paths: Sequence[Path]):
    """The stripped lines of plain or xz-compressed text files."""
    for path in paths:
        opened = lzma.open if path.suffix == ".xz" else open
        try:
            with opened(path, "rt", encoding="utf-8") as file:
                yield from (line.strip() for line in file)
        except (lzma.LZMAError, UnicodeDecodeError, EOFError) as cause:
            raise InputError(f"{path.name} cannot be read as UTF-8 text: {cause}.") from cause
        yield ""  # a file ends a document


def _rows(paths: Sequence[Path], limit: int):
    """Sentences with the number of their document; an empty line ends a document."""
    document = count = 0
    for line in text_lines(paths):
        if count == limit:
            return
        if line:
            count += 1
            yield {"sentence": line, "document": document}
        else:
            document += 1


def corpus_files(name: str) -> list[Path]:
    """The files of a corpus by its name in CORPORA, or a text file of one's own."""
    if name not in CORPORA and Path(name).is_file():
        return [Path(name)]
    source = choose(CORPORA, name, "corpus")
    if name == "open":
        return [checked(study_folder() / "data" / "open", file) for file in source.files]
    if data := folder():
        return [checked(data, file) for file in source.files]
    if source.hub is None:
        raise InputError(f"corpus {name!r} needs a data folder; give --data or MOCOSE_DATA.")
    repository, file, revision = source.hub
    return [Path(from_hub(repository, file, revision))]


def cache_key(*parts) -> str:
    """A name for what is made of `parts`, as a file of the cache."""
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:16]


def load_corpus(name: str, size: int) -> datasets.Dataset:
    """The first `size` sentences of a corpus: columns sentence and document.

    Raises InputError on an unknown name or too few sentences.
    """
    # a tuple of paths: a list would be taken for shards, each with a `limit` of its own
    paths = tuple(corpus_files(name))
    corpus = _arrow(_rows, paths, paths=paths, limit=size)
    if len(corpus) < size:
        raise InputError(
            f"corpus {name!r} has {len(corpus)} sentences; corpus_size = {size} is too many."
        )
    return corpus


def _arrow(rows, origin: Sequence[Path], **inputs) -> datasets.Dataset:
    """rows(**inputs) as a Dataset, kept on disk under a name made of `origin`'s content."""
    numbers = [value for value in inputs.values() if isinstance(value, int)]
    try:
        return datasets.Dataset.from_generator(
            rows, gen_kwargs=inputs, cache_dir=str(cache_folder()),
            fingerprint=cache_key("rows", *numbers, *map(sha256, origin)),
        )  # fmt: skip
    except datasets.exceptions.DatasetGenerationError as failed:
        if isinstance(failed.__cause__, InputError):
            raise failed.__cause__ from None
        raise


def tokenized(corpus: datasets.Dataset, tokenizer, max_length: int | None) -> datasets.Dataset:
    """Token ids of every sentence: columns input_ids, length (and document, where there is one).

    With `max_length` special tokens are added and long sentences cut; without, neither.
    """
    vocabulary = json.loads(tokenizer.backend_tokenizer.to_str())
    vocabulary.update(truncation=None, padding=None)  # left over from the tokenizer's last call
    stamp = cache_key(corpus._fingerprint, vocabulary, max_length)

    def ids(batch):
        found = tokenizer(
            batch["sentence"], add_special_tokens=max_length is not None,
            truncation=max_length is not None, max_length=max_length,
        )["input_ids"]  # fmt: skip
        return {"input_ids": found, "length": [len(x) for x in found]}

    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return corpus.map(
        ids, batched=True, remove_columns=["sentence"], new_fingerprint=stamp,
        cache_file_name=str(folder / f"{stamp}.arrow"),
    )  # fmt: skip


def column(ids, name: str) -> np.ndarray:
    """A column of numbers of a Dataset at once; its own iterator would take minutes."""
    return ids.data.table.column(name).to_numpy()
