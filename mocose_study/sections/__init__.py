"""The sections of the study in their order: what each runs, and which claims it judges."""

from .read import read_all

FILES = (
    "start encoders search ema heads augmentation batch queue distance geometry selection collapse "
    "published main_results simcse simcse_supervised s_simcse"
).split()
GRIDS = read_all(FILES)


class _Label(str):
    label = property(str)


class _Section:
    def __init__(self, grid):
        self.grid, self.notebook, self.question = grid, grid.notebook, grid.question
        self.points = {point.label: point for point in grid.points}
        self.configs = grid.configs

    def runs(self, profile, seeds=None):
        return [(_Label(p.label), c) for p, c in self.grid.runs(profile, seeds)]

    def __getattr__(self, name):
        return getattr(self.grid, name)


SECTIONS = {name: _Section(grid) for name, grid in GRIDS.items()}
