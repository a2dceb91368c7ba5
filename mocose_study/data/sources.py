"""Files of the data folder (MOCOSE_DATA, `--data`) by checksum, else of the hub."""

import hashlib
import logging
import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import huggingface_hub
from huggingface_hub import constants

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
    """The local data folder, or None. Raises InputError when it does not exist."""
    named = os.environ.get("MOCOSE_DATA")
    if named and not Path(named).is_dir():
        what = f"the data folder {named!r} is no folder"
        raise InputError(f"{what}; give --data or MOCOSE_DATA.")
    return Path(named) if named else None


def sha256(path: Path) -> str:
    """The content's digest, computed anew when the file is another or was changed."""
    stat = path.stat()
    return _sha256(path, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@cache
def _sha256(path: Path, *state: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(*parts) -> str:
    """Sixteen digits for the texts of `parts`."""
    text = "|".join(map(str, parts))
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def checksums(data: Path) -> dict[str, str]:
    """sha256 of the files of `data`, by its SHA256SUMS; empty where there is none."""
    listing = data / "SHA256SUMS"
    lines = listing.read_text().split("\n") if listing.exists() else []
    return {n.strip("* ./"): d for d, _, n in (x.partition(" ") for x in lines) if n}


def home(name: str) -> Path | None:
    """Where the data file `name` belongs: to data/open, or the data folder, if any."""
    return shipped("open").parent if name.startswith("open/") else folder()


def local(name: str) -> Path | None:
    """The path of a file of data/open or of the data folder; None where it is not.

    Raises InputError where it is damaged. One without a checksum is logged, once.
    """
    data = home(name)
    if data is None or not (path := data / name).is_file():
        return None
    expected = checksums(data).get(name)
    if expected is None:
        warn_once(f"{name} is not checked: no SHA256SUMS of {data} names it")
    elif sha256(path) != expected:
        raise InputError(f"data file {name} is damaged: its checksum differs.")
    return path


def data_file(name: str, own: bool = True) -> Path:
    """A path (`own`), or a file of data/open, of the data folder, or of the hub.

    Raises InputError as `local`, and where none of them has the file.
    """
    path = Path(name) if own and Path(name).is_file() else local(name)
    if path or name in ON_HUB:
        return path or from_hub(name)
    if data := home(name):
        raise InputError(f"data file {name} is missing from the data folder {data}.")
    raise InputError(f"{name!r} needs a data folder; give --data or MOCOSE_DATA.")


def from_hub(file: str) -> Path:
    """Downloads a file of ON_HUB. Raises InputError when the hub cannot be reached."""
    repository, kind = ON_HUB[file]
    at = {"repo_type": kind, "revision": revision_on_hub(repository, kind)}
    with asking_the_hub(f"give {file} of {repository}"):
        return Path(huggingface_hub.hf_hub_download(repository, file, **at))


@contextmanager
def asking_the_hub(what: str, instead: str = "give a local folder with --data"):
    """Turns any error into one sentence: the hub did not do `what`; do `instead`."""
    try:
        yield
    except Exception as cause:  # whatever the hub's client meets on its way
        why = f"the hub did not {what} ({type(cause).__name__})"
        raise InputError(f"{why}; check the connection, or {instead}.") from cause


@cache
def revision_on_hub(repository: str, kind: str = "model") -> str | None:
    """The commit of a repository ("model" or "dataset") where none is named, or None.

    It is that of the newest copy on this machine, else the hub's, asked once.
    """
    name = f"{kind}s--{repository.replace('/', '--')}"
    copies = Path(constants.HF_HUB_CACHE, name, "snapshots").glob("*")
    try:  # a copy that was fetched by its commit has no refs/main
        if newest := max(copies, key=os.path.getmtime, default=None):
            return newest.name
        return huggingface_hub.repo_info(repository, repo_type=kind, timeout=10).sha
    except Exception:  # no network, no such repository, a name that none can have
        return None
