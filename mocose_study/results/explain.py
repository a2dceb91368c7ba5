"""What is computed for the notebooks alone: regressions, the queue's ages, Figure 4's distance,
neighbours of a sentence."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mocose_lib.evaluation.geometry import unit
from mocose_lib.evaluation.sts import Encode
from mocose_lib.queue import NegativeQueue
from mocose_study.config import Config

OPTIMUM = (0.0, -4.0)  # Figure 4 names none; this is perfect alignment and the best uniformity


def variance_explained(
    runs: pd.DataFrame, models: Mapping[str, Sequence[str]], metric: str = "sts_avg"
) -> pd.DataFrame:
    """Share of the variance of `metric` that each model explains (R²), one row per model.

    A model is a list of columns of positive numbers. Each enters as its logarithm and the square
    of that, so that a best value in the middle can be found. "fitted" is measured on the runs
    themselves. "left out" predicts every point (column `label`) from the other points; below 0
    it is worse than their mean. Differences between seeds are taken out first.
    """
    seeds = runs.groupby("seed")[metric].transform("mean")
    y = (runs[metric] - seeds).to_numpy()
    rows = []
    for name, columns in models.items():
        x = runs[list(columns)].to_numpy(float)
        logs = FunctionTransformer(np.log)
        squares = FunctionTransformer(lambda scaled: np.hstack([scaled, scaled**2]))
        model = make_pipeline(logs, StandardScaler(), squares, LinearRegression())
        predicted = cross_val_predict(model, x, y, groups=runs["label"], cv=LeaveOneGroupOut())
        fitted = r2_score(y, model.fit(x, y).predict(x))
        rows.append({"model": name, "fitted": fitted, "left out": r2_score(y, predicted)})
    return pd.DataFrame(rows)


def ages_over_time(config: Config, steps: int) -> list[Int[np.ndarray, " n"]]:
    """The ages, in steps, of the queue's entries at each of a run's first `steps` steps.

    An entry of the random first fill has the age -1.
    """
    generator = torch.Generator().manual_seed(0)
    queue = NegativeQueue(config.queue_size, 2, config.queue_init, generator, config.queue_growth)
    found = []
    for step in range(1, steps + 1):
        found.append(queue.ages(step).numpy())
        queue.enqueue(torch.zeros(config.batch_size, 2), step)
    return found


def distance_to_optimum(align: float, uniform: float, norm: int) -> float:
    """L1 or L2 distance of (alignment, uniformity) to `OPTIMUM` (MoCoSE Figure 4)."""
    return float(np.linalg.norm([align - OPTIMUM[0], uniform - OPTIMUM[1]], norm))


def nearest(systems: dict[str, Encode], asked: Sequence[str], pool: Sequence[str]) -> pd.DataFrame:
    """For every sentence asked: the closest one of the pool, and its cosine, by every system."""
    found = pd.DataFrame({"sentence": asked})
    for name, encode in systems.items():
        closeness = unit(encode(asked)) @ unit(encode(pool)).T
        found[name] = [pool[i] for i in closeness.argmax(1)]
        found[f"cosine {name}"] = closeness.max(1).round(2)
    return found.set_index("sentence")
