"""Where the study's files live."""

import os
import sysconfig
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
INSTALLED = Path(sysconfig.get_path("data")) / "share" / "mocose"


def study_folder() -> Path:
    """The folder of `data/`, `notebooks/` and `figures/`.

    MOCOSE_STUDY if set; else the checkout of this package; else the current folder.
    """
    default = CHECKOUT if (CHECKOUT / "notebooks").is_dir() else Path.cwd()
    return Path(os.environ.get("MOCOSE_STUDY", default))


def cache_folder() -> Path:
    """The folder of what can be made again: token ids, rewritten texts, logs."""
    return study_folder() / "data" / "cache"


def shipped(name: str) -> Path:
    """Where "open", "encoders/tiny", "paper" or "SHA256SUMS" lies.

    The study's own copy comes first, then the checkout's, then what pip installed.
    """
    folders = (study_folder() / "data", CHECKOUT / "data", INSTALLED)
    places = [folder / name for folder in folders]
    return next((place for place in places if place.exists()), places[0])
