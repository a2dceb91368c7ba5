"""Digests of what a Config names: corpus, benchmark, encoder, further files.

They are part of a run's name, so that changed content is another run. Where the data folder is
not at hand, the committed `data/SHA256SUMS` says what the study's own runs have read.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from mocose_study.config import Config

from . import benchmarks, encoders
from .corpora import CORPORA, hub_name
from .files import shipped
from .labelled import TRANSFER
from .sources import ON_HUB, checksums, folder, revision_on_hub, sha256

NO_ENCODER = ("word_counts", "word_vectors")  # systems that read no pre-trained encoder
NO_CORPUS = ("untrained",)


def digests(config: Config) -> dict[str, str]:
    """Twelve digits for each content that decides the numbers of a run, by the field's name."""
    own = config.benchmark not in benchmarks.BENCHMARKS
    found = {"benchmark": _files(benchmarks.files_of(config.benchmark), own)}
    if config.dev:
        found["dev"] = _files(benchmarks.own_files(config.dev))
    if config.method not in NO_ENCODER:
        found["encoder"] = encoders.digest(config.encoder)
        found |= {name: encoders.digest(name) for name in config.augmentation_models}
    if config.method not in NO_CORPUS:
        name = config.corpus
        revision = hub_name(name) and (revision_on_hub(name, "dataset") or name)
        found["corpus"] = revision or _files(
            CORPORA.get(name, [name]), name not in CORPORA
        )
    if config.method == "word_vectors":
        found["vectors"] = _files([config.vectors])
    if config.method == "simcse_supervised":
        found["triplets"] = _files([config.triplets])
    if config.transfer:
        found["transfer"] = _files(
            (f"transfer/{task}.tsv" for task in TRANSFER), own=False
        )
    return {
        name: hashlib.sha256(text.encode()).hexdigest()[:12]
        for name, text in found.items()
    }


def _files(names: Iterable[str], own: bool = True) -> str:
    """sha256 of each file of the data folder, or path where it may be one's `own`; else the digest
    that is on record, or the commit of the hub's repository that has the file."""
    data, found = folder(), ""
    recorded = checksums(shipped("SHA256SUMS").parent)
    for name in names:
        places = (
            *([Path(name)] if own else []),
            shipped(name),
            *([data / name] if data else []),
        )
        path = next((place for place in places if place.is_file()), None)
        known = sha256(path) if path else recorded.get(name)
        found += known or (name in ON_HUB and revision_on_hub(*ON_HUB[name])) or name
    return found
