"""Where the study's files live."""

import os
import sysconfig
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
SCHEMES = map(sysconfig.get_preferred_scheme, ("prefix", "user"))
# where pip may have put the data: with --target beside the packages
PREFIXES = [CHECKOUT, *(Path(sysconfig.get_path("data", s)) for s in SCHEMES)]


def study_folder() -> Path:
    """MOCOSE_STUDY if set; else this package's checkout; else the current folder."""
    default = CHECKOUT if (CHECKOUT / "notebooks").is_dir() else Path.cwd()
    return Path(os.environ.get("MOCOSE_STUDY", default))


def cache_folder() -> Path:
    """The folder of what can be made again: token ids, rewritten texts, logs."""
    return study_folder() / "data" / "cache"


def shipped(name: str) -> Path:
    """Where "open", "encoders/tiny", "paper" or "SHA256SUMS" lies.

    The study's own copy comes first, then the checkout's, then what pip installed.
    """
    folders = [study_folder() / "data", CHECKOUT / "data"]
    folders += [prefix / "share" / "mocose" for prefix in PREFIXES]
    places = [folder / name for folder in folders]
    return next((place for place in places if place.exists()), places[0])
