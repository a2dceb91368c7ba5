"""Where encoders lie: the study's own, a folder, or the hub at a revision."""

import os
from pathlib import Path

import huggingface_hub

from mocose_study.config import Config, InputError
from mocose_study.config.config import MODELS

from .files import shipped
from .sources import asking_the_hub, revision_on_hub, sha256, warn_once

WEIGHTS = (".safetensors", ".bin")  # read in the first form that there is
TEXTS = (".json", ".txt", ".model")  # settings and words
RECORD = "pretraining.json"  # of a folder's training; it changes no number
OWN = ("tiny", "mini", "small")  # the study's own, which are on no hub
PINNED = {
    "google-bert/bert-base-uncased": "86b5e0934494bd15c9632b12f734a8a67f723594",
    "google-bert/bert-large-uncased": "6da4b6a26a1877e173fca3225479512db81a5e5b",
    "FacebookAI/roberta-base": "e2da8e2f811d1448a5b465c236feacd80ffbac7b",
}


def locate(name: str) -> Path | None:
    """The folder of an encoder: data/encoders/<name>, or a path; None: neither."""
    own = [] if os.sep in name else [shipped(f"encoders/{name}")]
    known = ("config.json", "modules.json")
    there = [x for x in (*own, Path(name)) if any((x / f).exists() for f in known)]
    if len(there) > 1:
        warn_once(f"{name} is the study's encoder; for the folder here, name ./{name}")
    return there[0] if there else None


def models_of(config: Config) -> tuple[str, ...]:
    """What rewrites text: those named, else a local encoder (synonyms), else theirs."""
    if named := config.augmentation_models:
        return named
    if config.text_augmentation == "synonym" and locate(config.encoder):
        return (config.encoder,)
    return MODELS[config.text_augmentation]


def source(name: str) -> Path:
    """The folder of an encoder, fetched from the hub where it is not local.

    Raises InputError when there is no such folder and the hub does not give it.
    """
    if folder := locate(name):
        return folder
    if name in OWN:
        message = f"encoder {name!r} is not made yet"
        raise InputError(f"{message}; `mocose pretrain --profile {name}` makes it.")
    revision = revision_of(name)
    with asking_the_hub(f"give the encoder {name!r}", "name a folder with a model"):
        for weights in WEIGHTS if revision else ():
            wanted = [f"*{suffix}" for suffix in (*TEXTS, weights)]
            asked = {"revision": revision, "allow_patterns": wanted}
            folder = Path(huggingface_hub.snapshot_download(name, **asked))
            if any(folder.glob(f"*{weights}")):
                return folder
    raise InputError(
        f"encoder {name!r} is neither a folder under data/encoders nor another folder "
        "with a model, and the hub does not know it or is away."
    )


def revision_of(name: str) -> str | None:
    """The commit of the hub's repository, or None where nobody knows it."""
    return None if name in OWN else PINNED.get(name) or revision_on_hub(name)


def fingerprint(name: str) -> str:
    """A text that changes with any weight, setting or word of an encoder.

    For an encoder of the hub it is the revision, or the name where none is known.
    """
    if not (folder := locate(name)):
        return revision_of(name) or name
    paths = (p for p in sorted(folder.rglob("*")) if p.suffix in WEIGHTS + TEXTS)
    files = {p.relative_to(folder): sha256(p) for p in paths if p.name != RECORD}
    return "".join(f"{name} {content} " for name, content in files.items())
