"""Digests of what a Config names: corpus, benchmark, encoder, further files.

They are part of a run's name, so that changed content is another run. Where the data folder is
not at hand, the committed `data/SHA256SUMS` says what the study's own runs have read.
"""

import hashlib
from functools import cache
from pathlib import Path

from mocose_study.config import Config

from . import benchmarks, encoders
from .corpora import CORPORA
from .files import study_folder
from .sources import checksums, folder, sha256

NO_ENCODER = ("word_counts", "word_vectors")  # systems that read no pre-trained encoder
NO_CORPUS = ("untrained",)


def digests(config: Config) -> dict[str, str]:
    """Twelve digits for each content that decides the numbers of a run, by the field's name."""
    found = {"benchmark": _benchmark(config.benchmark)}
    if config.method not in NO_ENCODER:
        found["encoder"] = encoders.digest(config.encoder)
        found |= {name: encoders.digest(name) for name in config.augmentation_models}
    if config.method not in NO_CORPUS:
        found["corpus"] = _corpus(config.corpus)
    if config.method == "word_vectors":
        found["vectors"] = _file(config.vectors)
    if config.method == "simcse_supervised":
        found["triplets"] = _file(config.triplets)
    if config.transfer:
        found["transfer"] = "".join(_file(f"transfer/{t}.tsv") for t in benchmarks.TRANSFER)
    return {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in found.items()}


def _corpus(name: str) -> str:
    if name not in CORPORA:
        return _file(name)
    root = "open/" if name == "open" else ""
    return "".join(_file(root + file) for file in CORPORA[name].files)


def _benchmark(name: str) -> str:
    if name in benchmarks.BENCHMARKS:
        return "".join(_file(file) for file in benchmarks.files_of(name))
    return "".join(_file(part) for part in name.split(","))


def _file(name: str) -> str:
    """sha256 of a path, or of a file of the data folder; else the digest that is on record."""
    data = folder()
    places = [Path(name), study_folder() / "data" / name, *([data / name] if data else [])]
    for path in places:
        if path.is_file():
            return sha256(path)
    return _on_record().get(name, name)


@cache
def _on_record() -> dict[str, str]:
    return checksums(study_folder() / "data")
