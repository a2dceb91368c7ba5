"""Files of the local data folder, by checksum, and of the hub."""

import hashlib
import os
from functools import cache, lru_cache
from pathlib import Path

from mocose_study.config import InputError


def folder() -> Path | None:
    """The local data folder, or None. Raises InputError when MOCOSE_DATA is no folder."""
    named = os.environ.get("MOCOSE_DATA")
    if not named:
        return None
    if not Path(named).is_dir():
        raise InputError(f"the data folder {named!r} does not exist; give --data or MOCOSE_DATA.")
    return Path(named)


def sha256(path: Path) -> str:
    """The content's digest; computed anew when size or time stamp of the file have changed."""
    stat = path.stat()
    return _sha256(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=None)
def _sha256(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def checksums(data: Path) -> dict[str, str]:
    """sha256 of the files of `data`, as its SHA256SUMS says; empty where there is none."""
    listing = data / "SHA256SUMS"
    lines = listing.read_text().split("\n") if listing.exists() else []
    pairs = (line.partition(" ") for line in lines)
    return {name.strip("* ./"): digest for digest, _, name in pairs if name}


def checked(data: Path, name: str) -> Path:
    """The path of a data file. Raises InputError when it is missing or damaged."""
    path = data / name
    if not path.exists():
        raise InputError(f"data file {name} is missing from the data folder {data}.")
    expected = checksums(data).get(name)
    if expected and sha256(path) != expected:
        raise InputError(f"data file {name} is damaged: its checksum is not that of SHA256SUMS.")
    return path


def from_hub(repository: str, file: str, revision: str) -> str:
    """Downloads one file of a hub dataset. Raises InputError when the hub cannot be reached."""
    from huggingface_hub import hf_hub_download

    try:
        return hf_hub_download(repository, file, repo_type="dataset", revision=revision)
    except OSError as cause:
        raise InputError(
            f"the hub did not give {file} of {repository} ({type(cause).__name__}); "
            "check the connection, or give a local folder with --data."
        ) from cause
