"""Text to train on, and its token ids.

A corpus of one's own is a file with one sentence a line (.txt, .txt.xz, .txt.gz), or a
table with a heading (.tsv), whose every cell is a sentence.
`datasets` keeps texts and token ids in data/cache, under names made of all that decides
them.
"""

import gzip
import itertools
import lzma
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import datasets
import pyarrow as pa
from datasets.exceptions import DatasetGenerationError

from mocose_study.config import InputError, choose

from . import sources
from .files import cache_folder

datasets.disable_progress_bars()  # the study shows bars of its own
OPENERS = {".xz": lzma.open, ".gz": gzip.open}
UNREADABLE = (OSError, lzma.LZMAError, zlib.error, UnicodeDecodeError, EOFError)
BATCH = 20_000  # sentences that are tokenised at once
CORPORA = {  # files of the package, the data folder or the hub; one sentence a line
    "open": ["open/wikipedia.txt.xz"],
    "wiki900k": [f"corpus/wiki_sentences_{i:02}.txt.xz" for i in range(9)],
    "wiki_documents": [f"corpus/wiki_documents_{i:02}.txt.xz" for i in range(10)],
    "wiki1m": ["wiki1m_for_simcse.txt"],
    "nli": ["nli/nli_triplets_small.tsv"],
}


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a text file, plain or compressed, each with its line break.

    Byte order marks are left out. Raises InputError, with file and line, where a file
    is no UTF-8 text or is cut off.
    """
    n = 0
    try:
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            for n, line in enumerate(file, 1):
                if b"\0" in line:
                    raise InputError(f"{path} is no text: line {n} holds a NUL byte.")
                yield line.decode("utf-8").removeprefix("\ufeff")
    except UNREADABLE as cause:
        what = f"cannot be read as UTF-8 text after line {n}"
        raise InputError(f"{path} {what}: {cause}.") from cause


def text_lines(paths: Sequence[Path]) -> Iterator[str]:
    """The stripped lines, or cells, of text files (`read_lines`); "" ends each file."""
    for path in paths:
        lines = read_lines(path)
        if path.suffix == ".tsv":
            next(lines, None)  # the heading
            lines = (cell for line in lines for cell in line.split("\t"))
        yield from map(str.strip, lines)
        yield ""


def corpus_files(name: str) -> list[Path]:
    """The files of a corpus by its name in CORPORA, or a text file of one's own."""
    if not name.isprintable():  # as bytes that are no UTF-8 come out
        raise InputError(f"corpus {name!r} is no readable name; rename the file.")
    if name not in CORPORA and Path(name).is_file():
        return [Path(name)]
    files = choose(CORPORA, name, "corpus")
    return [sources.data_file(file, own=False) for file in files]


def _rows(name: str, lines: Iterable[str]) -> Iterator[dict]:
    """Sentences with the number of their document; an empty line ends a document."""
    document = count = 0
    for line in lines:
        document += not line
        if line:
            count += 1
            yield {"sentence": line, "document": document}
    if not count:
        raise InputError(f"corpus {name!r} has no sentences.")


def load_corpus(name: str, size: int) -> datasets.Dataset:
    """The first `size` sentences of a corpus: columns sentence and document.

    Raises InputError on an unknown name, too few sentences, and one that is repeated.
    """
    paths = corpus_files(name)
    with writing_the_cache():
        corpus = datasets.Dataset.from_generator(
            lambda: itertools.islice(_rows(name, text_lines(paths)), size),
            cache_dir=str(cache_folder()),
            fingerprint=sources.digest("rows", size, *map(sources.sha256, paths)),
        )
    if len(corpus) < size:
        what = f"has {len(corpus)} sentences, but corpus_size = {size}"
        raise InputError(f"corpus {name!r} {what}.")
    if len(set(corpus[:BATCH]["sentence"])) < 2:
        raise InputError(f"corpus {name!r} repeats one sentence.")
    return corpus


def tokenized(
    corpus: datasets.Dataset, tokenizer, max_length: int | None
) -> datasets.Dataset:
    """Token ids in place of the sentences: column input_ids.

    With `max_length` special tokens are added and long sentences cut; without, neither.
    """
    cut = max_length is not None
    options = {"add_special_tokens": cut, "truncation": cut, "max_length": max_length}
    options |= {"return_attention_mask": False, "return_token_type_ids": False}

    def encoded(sentences: list[str]) -> dict:  # some tokenizers give more than asked
        ids = tokenizer(sentences, **options, verbose=False)
        return {"input_ids": ids["input_ids"]}

    columns = {"input_ids": datasets.List(datasets.Value("int32"))}
    others = {k: kind for k, kind in corpus.features.items() if k != "sentence"}
    key = sources.digest("ids", corpus._fingerprint, words_of(tokenizer), max_length)
    return mapped(key, corpus, encoded, others | columns)


def words_of(tokenizer) -> str:
    """All that decides the ids that `tokenizer` gives."""
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is None:
        return f"{tokenizer} {sorted(tokenizer.get_vocab().items())}"
    backend.no_truncation()  # what its last call left
    backend.no_padding()
    return backend.to_str() + tokenizer.truncation_side


def mapped(key: str, table: datasets.Dataset, function, columns: dict):
    """The table that `function` makes of lists of sentences, cached under `key`.

    Raises InputError when the cache cannot be written.
    """
    with writing_the_cache():
        cache_folder().mkdir(parents=True, exist_ok=True)
        file = str(cache_folder() / f"{key}.arrow")
        options = {"cache_file_name": file, "new_fingerprint": key, "batched": True}
        options |= {"batch_size": BATCH, "input_columns": "sentence"}
        options["remove_columns"] = list(set(table.column_names) - set(columns))
        return table.map(function, features=datasets.Features(columns), **options)


@contextmanager
def writing_the_cache():
    """Says in one sentence that the cache is damaged, or cannot be written."""
    try:
        yield
    except (DatasetGenerationError, OSError, pa.ArrowInvalid) as error:
        cause = error.__cause__ or error  # `datasets` wraps what a generator raises
        if not isinstance(cause, OSError | pa.ArrowInvalid):
            raise cause from None
        raise InputError(
            f"{cache_folder()} is damaged or cannot be written ({cause}); delete it, "
            "free its disk, or let MOCOSE_STUDY name another folder."
        ) from cause
