"""Files of the local data folder, by checksum, and of the hub."""

import hashlib
import os
from functools import cache
from pathlib import Path

from .config import StudyError


def folder() -> Path | None:
    """The local data folder, or None. Raises StudyError when MOCOSE_DATA is no folder."""
    named = os.environ.get("MOCOSE_DATA")
    if not named:
        return None
    if not Path(named).is_dir():
        raise StudyError(f"the data folder {named!r} does not exist; give --data or MOCOSE_DATA.")
    return Path(named)


@cache
def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def checksums(data: Path) -> dict[str, str]:
    """sha256 of the files of `data`, as its SHA256SUMS says; empty where there is none."""
    listing = data / "SHA256SUMS"
    lines = listing.read_text().split("\n") if listing.exists() else []
    pairs = (line.partition(" ") for line in lines)
    return {name.strip("* ./"): digest for digest, _, name in pairs if name}


@cache
def checked(data: Path, name: str) -> Path:
    """The path of a data file. Raises StudyError when it is missing or damaged."""
    path = data / name
    if not path.exists():
        raise StudyError(f"data file {name} is missing from the data folder {data}.")
    expected = checksums(data).get(name)
    if expected and sha256(path) != expected:
        raise StudyError(f"data file {name} is damaged: its checksum is not that of SHA256SUMS.")
    return path


def from_hub(repository: str, file: str, revision: str) -> str:
    """Downloads one file of a hub dataset. Raises StudyError when the hub cannot be reached."""
    from huggingface_hub import hf_hub_download

    try:
        return hf_hub_download(repository, file, repo_type="dataset", revision=revision)
    except OSError as cause:
        raise StudyError(
            f"the hub did not give {file} of {repository} ({type(cause).__name__}); "
            "check the connection, or give a local folder with --data."
        ) from cause
