"""What a run is: fields and ranges, presets, profiles."""

from mocose_lib.settings import InputError

from .config import FIELDS, Config, check_names, choose, vary
from .profiles import PRESETS, PROFILES, configure

__all__ = [
    "FIELDS", "PRESETS", "PROFILES", "Config", "InputError", "check_names", "choose", "configure",
    "vary",
]  # fmt: skip
