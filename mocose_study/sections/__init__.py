"""The sections of the study in their order: what each runs, and which claims it judges."""

from importlib import import_module
from types import MappingProxyType

FILES = (
    "start encoders search ema heads augmentation batch queue distance geometry selection collapse "
    "published main_results simcse simcse_supervised s_simcse"
).split()
_OF_FILES = [import_module(f"{__name__}.{name}").GRIDS for name in FILES]
GRIDS = MappingProxyType({name: grid for grids in _OF_FILES for name, grid in grids.items()})
