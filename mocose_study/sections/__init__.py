"""The sections of the study in their order: what each runs, and which claims it judges."""

from .read import read_all

FILES = (
    "start encoders search ema heads augmentation batch queue distance geometry selection collapse "
    "published main_results simcse simcse_supervised s_simcse"
).split()
GRIDS = read_all(FILES)
