"""Files of the local data folder, by checksum, and files and revisions of the hub."""

import hashlib
import logging
import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from mocose_study.config import InputError

from .files import shipped

log = logging.getLogger(__name__)
SIMCSE = ("princeton-nlp/datasets-for-simcse", "dataset")
ON_HUB = {  # files that the hub has: the repository and its kind
    "wiki1m_for_simcse.txt": SIMCSE,
    "nli_for_simcse.csv": SIMCSE,  # the authors' 275,601 triplets
    "senteval.tar": SIMCSE,
    "glove.6B.zip": ("stanfordnlp/glove", "model"),
}


@cache
def warn_once(sentence: str) -> None:
    log.warning("%s", sentence)


def folder() -> Path | None:
    """The local data folder, or None. Raises InputError when MOCOSE_DATA is no folder."""
    named = os.environ.get("MOCOSE_DATA")
    if not named:
        return None
    if not Path(named).is_dir():
        raise InputError(
            f"the data folder {named!r} does not exist; give --data or MOCOSE_DATA."
        )
    return Path(named)


def sha256(path: Path) -> str:
    """The content's digest, computed anew when the file is another or was written to."""
    stat = path.stat()
    return _sha256(path, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@cache
def _sha256(path: Path, *state: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksums(data: Path) -> dict[str, str]:
    """sha256 of the files of `data`, as its SHA256SUMS says; empty where there is none."""
    listing = data / "SHA256SUMS"
    if not listing.exists():
        return {}
    pairs = (line.partition(" ") for line in listing.read_text().split("\n"))
    return {name.strip("* ./"): digest for digest, _, name in pairs if name}


def checked(data: Path, name: str) -> Path:
    """The path of a data file. Raises InputError when it is missing or damaged.

    Where no SHA256SUMS names the file, the log says so once.
    """
    path = data / name
    if not path.is_file():
        raise InputError(f"data file {name} is missing from the data folder {data}.")
    expected = checksums(data).get(name)
    if expected is not None and sha256(path) != expected:
        raise InputError(
            f"data file {name} is damaged: its checksum is not that of SHA256SUMS."
        )
    if not (data / "SHA256SUMS").exists():
        warn_once(f"{data} has no SHA256SUMS, so its files are not checked")
    elif expected is None:
        warn_once(f"{name} is not checked: SHA256SUMS of {data} does not name it")
    return path


def local(name: str) -> Path | None:
    """The path of a file that the data folder has (`checked`); None where it has no such file."""
    data = folder()
    return checked(data, name) if data and (data / name).is_file() else None


def open_file(name: str) -> Path:
    """A file of data/open. Raises InputError when the package came without it."""
    if not (place := shipped("open")).is_dir():
        raise InputError(
            "the open data are not installed here; let MOCOSE_STUDY name a checkout of the study, "
            "which has them."
        )
    return checked(place, name)


def from_hub(file: str) -> Path:
    """Downloads a file of ON_HUB. Raises InputError when the hub cannot be reached."""
    from huggingface_hub import hf_hub_download

    repository, kind = ON_HUB[file]
    at = {"repo_type": kind, "revision": revision_on_hub(repository, kind)}
    with asking_the_hub(f"give {file} of {repository}"):
        return Path(hf_hub_download(repository, file, **at))


@contextmanager
def asking_the_hub(what: str, instead: str = "give a local folder with --data"):
    """Says in one sentence that the hub did not do `what`, and what to do `instead`."""
    try:
        yield
    except Exception as cause:  # whatever the hub's client meets on its way
        why = f"the hub did not {what} ({type(cause).__name__})"
        raise InputError(f"{why}; check the connection, or {instead}.") from cause


@cache
def revision_on_hub(repository: str, kind: str = "model") -> str | None:
    """The commit of a repository that is used when none is named; None where nobody knows it.

    That is the one of the copy on this machine, else the newest of the hub, which is asked once.
    `kind` is "model" or "dataset".
    """
    from huggingface_hub import HfApi, constants
    from huggingface_hub.file_download import repo_folder_name

    try:
        copy = Path(constants.HF_HUB_CACHE) / repo_folder_name(
            repo_id=repository, repo_type=kind
        )
        if (copy / "refs" / "main").is_file():
            return (copy / "refs" / "main").read_text().strip()
        return HfApi().repo_info(repository, repo_type=kind, timeout=10).sha
    except Exception:  # no network, no such repository, a name that none can have
        return None
