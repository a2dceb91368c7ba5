"""What explains the score: regressions on a run's settings, compared on settings left out.

MoCoSE shows its score over the maximum traceable distance (Figure 2) and reads a law from it;
whether the distance says more than decay, queue and batch on their own is asked here.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler


def variance_explained(
    runs: pd.DataFrame, models: Mapping[str, Sequence[str]], metric: str = "sts_avg"
) -> pd.DataFrame:
    """Share of the variance of `metric` that each model explains (R²), a row a model.

    A model is a list of columns of positive numbers; each enters as its logarithm and the square
    of that, so that a best value in the middle can be found. "fitted" is on the runs themselves,
    "left out" predicts every point (column `label`) from the others: below 0 is worse than their
    mean. Differences between seeds are taken out first.
    """
    seeds = runs.groupby("seed")[metric].transform("mean")
    y = (runs[metric] - seeds).to_numpy()
    rows = []
    for name, columns in models.items():
        x = runs[list(columns)].to_numpy(float)
        model = make_pipeline(
            FunctionTransformer(np.log), StandardScaler(), FunctionTransformer(with_squares),
            LinearRegression())  # fmt: skip
        predicted = cross_val_predict(model, x, y, groups=runs["label"], cv=LeaveOneGroupOut())
        fitted = r2_score(y, model.fit(x, y).predict(x))
        rows.append({"model": name, "fitted": fitted, "left out": r2_score(y, predicted)})
    return pd.DataFrame(rows)


def with_squares(x: np.ndarray) -> np.ndarray:
    return np.hstack([x, x**2])
