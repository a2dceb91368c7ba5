"""What a run is: fields and ranges, presets, profiles."""

from mocose_lib.settings import InputError

from .config import FIELDS, Config, choose, known, read_toml, vary
from .profiles import PRESETS, PROFILES, configure
