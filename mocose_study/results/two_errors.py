"""How sure a difference is: over seeds, and over the sentence pairs of the test sets."""

import numpy as np
import pandas as pd

from mocose_study.sections.grid import Grid
from mocose_study.results.tables import existing, read_run
from mocose_study.runs.run import run_file
from mocose_study.claims.stats import paired, variance_sources


def errors(
    grid: Grid, profile: str, comparisons: list[tuple[str, str]], seeds=None
) -> pd.DataFrame:
    """A row a comparison (a, b) of points that have runs: the mean of a - b over seeds, in points
    of the seven-task average, and its standard errors from the seeds and from the test pairs.

    The runs need `resamples`; seeds are those that a and b share.
    """
    scores: dict[str, dict[int, float]] = {}
    resampled: dict[str, dict[int, np.ndarray]] = {}
    for config, label in existing(grid, profile, seeds):
        record = read_run(run_file(config, profile))
        scores.setdefault(label, {})[config.seed] = record["metrics"]["sts_avg"]
        resampled.setdefault(label, {})[config.seed] = np.array(record["resampled"], float)
    rows = []
    for a, b in comparisons:
        gaps = paired(scores.get(a, {}), scores.get(b, {}))
        if len(gaps):
            found = variance_sources(gaps, paired(resampled[a], resampled[b]).mean(axis=0))
            rows.append((f"{a} - {b}", gaps.mean(), found.seeds, found.pairs))
    columns = ["difference of", "points", "standard error, seeds", "standard error, test pairs"]
    return pd.DataFrame(rows, columns=columns)
