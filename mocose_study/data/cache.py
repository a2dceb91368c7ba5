"""Tables that can be made again: Arrow files under data/cache, each named after its content."""

import hashlib
import itertools
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import datasets
import pyarrow as pa

from mocose_study.config import InputError

from .atomic import write_atomically
from .files import cache_folder
from .sources import sha256

log = logging.getLogger(__name__)
DIGITS = 16  # of a key, and of the digest of a file's content


def cache_key(*parts) -> str:
    """A name for what is made of `parts`."""
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:DIGITS]


def stored(key: str, batches: Callable[[], Iterable[dict]]) -> datasets.Dataset:
    """A memory-mapped Dataset of all batches (columns by name), made once for each `key`.

    The file is called <key>.<digest of its content>.arrow. A damaged one is dropped and made
    anew; the log says so. Raises InputError when the folder cannot be written.
    """
    for path in cache_folder().glob(f"{key}.*.arrow"):
        if sha256(path)[:DIGITS] == path.name.split(".")[1]:
            return _opened(path, key)
        log.warning("the cached table %s is damaged; it is made anew", path.name)
        path.unlink()
    try:
        new = cache_folder() / f"new-{os.getpid()}-{key}.arrow"  # another process may make it, too
        made = write_atomically(new, lambda part: _write(part, batches()))
    except OSError as cause:
        why = f"{cache_folder()} cannot be written ({cause.strerror or cause})"
        raise InputError(
            f"{why}; free its disk, or let MOCOSE_STUDY name another folder."
        ) from cause
    return _opened(made.replace(made.with_name(f"{key}.{sha256(made)[:DIGITS]}.arrow")), key)


def _opened(path: Path, key: str) -> datasets.Dataset:
    return datasets.Dataset(datasets.table.MemoryMappedTable.from_file(str(path)), fingerprint=key)


def _write(path: Path, batches: Iterable[dict]) -> None:
    tables = map(pa.table, batches)
    first = next(tables, pa.table({}))
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, first.schema) as writer:
        for table in itertools.chain([first], tables):
            writer.write_table(table)
