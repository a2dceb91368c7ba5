"""Digests of what a Config names: benchmark, corpus, encoder, further files.

They are part of a run's name, so that changed content is another run. For files that
are not here, the committed `data/SHA256SUMS` has what the study's own runs have read.
"""

from collections.abc import Iterable
from pathlib import Path

from mocose_study.config import Config

from . import benchmarks, encoders
from .corpora import CORPORA
from .files import shipped
from .labelled import TRANSFER
from .sources import ON_HUB, checksums, digest, home, revision_on_hub, sha256


def digests(config: Config, reads: Iterable[str]) -> dict[str, str]:
    """Twelve digits for each content that decides the numbers of a run, by field.

    `reads` are the fields of Config that name what the system learns from.
    """
    own = config.benchmark not in benchmarks.BENCHMARKS
    texts = {"benchmark": _files(benchmarks.files_of(config.benchmark), own)}
    if config.dev:
        texts["dev"] = _files(benchmarks.own_files(config.dev))
    if config.transfer:
        texts["transfer"] = _files((f"transfer/{t}.tsv" for t in TRANSFER), own=False)
    for field in reads:
        value = getattr(config, field)
        if field == "augmentation_models":
            others = {*encoders.models_of(config)} - {config.encoder}
            texts |= {name: encoders.fingerprint(name) for name in others}
        elif field == "encoder":
            texts[field] = encoders.fingerprint(value)
        else:
            texts[field] = _files(CORPORA.get(value, [value]), value not in CORPORA)
    return {name: digest(text)[:12] for name, text in texts.items()}


def _files(names: Iterable[str], own: bool = True) -> str:
    """The sha256 of each file: a path (`own`), or a file of data/open or data folder.

    For a file that is not here: the one on record, else the hub's commit.
    """
    recorded, digests = checksums(shipped("SHA256SUMS").parent), ""
    for name in names:
        here = (Path(name) if own else None, (data := home(name)) and data / name)
        path = next((path for path in here if path and path.is_file()), None)
        known = sha256(path) if path else recorded.get(name)
        on_hub = not known and name in ON_HUB and revision_on_hub(*ON_HUB[name])
        digests += known or on_hub or name
    return digests
