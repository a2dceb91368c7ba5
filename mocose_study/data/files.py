"""Where the study's files live."""

import os
from pathlib import Path


def study_folder() -> Path:
    """The folder that holds `data/`, `notebooks/` and `figures/`.

    MOCOSE_STUDY if set; else the checkout this package is installed from; else the current folder.
    """
    checkout = Path(__file__).resolve().parents[2]
    default = checkout if (checkout / "notebooks").is_dir() else Path.cwd()
    return Path(os.environ.get("MOCOSE_STUDY", default))


def cache_folder() -> Path:
    """Whatever can be made again: token ids, rewritten texts, logs."""
    return study_folder() / "data" / "cache"


def encoders_folder() -> Path:
    return study_folder() / "data" / "encoders"
