"""Where the study's files live."""

import os
import sysconfig
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
INSTALLED = Path(sysconfig.get_path("data")) / "share" / "mocose"


def study_folder() -> Path:
    """The folder that holds `data/`, `notebooks/` and `figures/`.

    MOCOSE_STUDY if set; else the checkout this package is installed from; else the current folder.
    """
    default = CHECKOUT if (CHECKOUT / "notebooks").is_dir() else Path.cwd()
    return Path(os.environ.get("MOCOSE_STUDY", default))


def cache_folder() -> Path:
    """Whatever can be made again: token ids, rewritten texts, logs."""
    return study_folder() / "data" / "cache"


def encoders_folder() -> Path:
    """Where the study's own pre-training puts its encoders."""
    return study_folder() / "data" / "encoders"


def shipped(name: str) -> Path:
    """Where "open", "encoders/tiny", "paper" or "SHA256SUMS" lies, which come with the package.

    The study's own copy comes first, then that of the checkout, then what pip has installed.
    """
    places = [
        study_folder() / "data" / name,
        CHECKOUT / "data" / name,
        INSTALLED / name,
    ]
    return next((place for place in places if place.exists()), places[0])
