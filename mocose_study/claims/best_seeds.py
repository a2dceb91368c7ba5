"""What it does to report the best seeds only: S-SimCSE's Table 1 has the mean of the top 3 of 7.

The largest of n values lie above the mean of all. The more the seeds differ, the larger is the
distance. What is reported of them also varies more than the mean does. Resampling the same seeds
shows both.
"""

import numpy as np
import pandas as pd

from mocose_study.claims.stats import interval

BEST = 3
DRAWS = 20_000


def top_mean(values, best: int = BEST):
    """Mean of the `best` largest along the last axis, (..., n) -> (...); NaN of fewer."""
    values = np.asarray(values, float)
    if values.shape[-1] < best:
        return np.full(values.shape[:-1], np.nan)[()]
    return np.sort(values, axis=-1)[..., -best:].mean(-1)


def resampled(values, best: int = BEST, draws: int = DRAWS, seed: int = 0):
    """top_mean of `draws` resamples, drawn with replacement, of as many seeds: (draws,)."""
    values = np.asarray(values, float)
    rng = np.random.default_rng(seed)
    return top_mean(values[rng.integers(len(values), size=(draws, len(values)))], best)


def luck(values, best: int = BEST, level: float = 0.95) -> float:
    """How far apart two reports of the best seeds lie, both of one system with these seeds.

    A difference between systems below this one is found between a system and itself, too, in
    `level` of all cases.
    """
    one, other = (resampled(values, best, seed=seed) for seed in (0, 1))
    return float(np.quantile(np.abs(one - other), level))


def table(runs: pd.DataFrame, labels: list[str], metric: str) -> pd.DataFrame:
    """A row a system: all seeds with the interval of their mean, the best of them, and what
    choosing them adds: to the mean of these seeds, and to that expected of such seeds."""
    rows = []
    for label in labels:
        values = runs.loc[runs["label"] == label, metric].to_numpy()
        i, top = interval(values), float(top_mean(values))
        row = {"point": label, "n": i.n, "mean": i.mean, "low": i.low, "high": i.high}
        row |= {f"top {BEST}": top, "maximum": values.max(), f"top {BEST} − mean": top - i.mean}
        row[f"expected top {BEST} − mean"] = float(resampled(values).mean()) - i.mean
        rows.append(row | {"between equals": luck(values)})
    return pd.DataFrame(rows)
