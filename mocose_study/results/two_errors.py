"""How sure a difference is: over seeds, and over the sentence pairs of the test sets."""

import pandas as pd

from mocose_study.claims.effects import RESAMPLED, difference, scores
from mocose_study.sections.grid import Grid, at

from .tables import table_of

COLUMNS = ["difference of", "points", "standard error, seeds", "standard error, test pairs"]


def errors(
    grid: Grid, profile: str, comparisons: list[tuple[str, str]], seeds=None
) -> pd.DataFrame:
    """A row a comparison (a, b) of points that have runs: the mean of a - b over seeds, in points
    of the seven-task average, and its standard errors from the seeds and from the test pairs.

    The second needs runs with `resamples`; seeds are those that a and b share.
    """
    runs = table_of(grid, profile, seeds)
    rows = []
    for a, b in comparisons:
        sides = [scores(at(label), runs, RESAMPLED) for label in (a, b)]
        if all(side.by_seed for side in sides):
            effect = difference(*sides)
            rows.append((f"{a} - {b}", effect.mean, *effect.errors()))
    return pd.DataFrame(rows, columns=COLUMNS)
