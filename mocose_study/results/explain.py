"""What is computed for one notebook alone, as regressions and the ages of the queue."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from jaxtyping import Int
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mocose_lib.evaluation.geometry import unit
from mocose_lib.evaluation.sts import Encode
from mocose_lib.queue import NegativeQueue
from mocose_study.config import Config
from mocose_study.runs.measure import GRADES, QUANTILES
from mocose_study.sections.grid import Grid, paper_numbers

from .show import labels_of, paper_values
from .style import color_of, style
from .tables import records

WEIGHTED = {  # systems of the section `main` by their name in SimCSE's Table B.3
    "untrained first-last": "first_last, ",
    "whitening": "whitening, target",
    "whitening, Wikipedia": "whitening, nli",
    "flow": "flow, target",
    "flow, Wikipedia": "flow, nli",
    "SimCSE": "simcse, ",
    "SimCSE supervised": "simcse_supervised, ",
}


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
        predicted = cross_val_predict(
            model, x, y, groups=runs["label"], cv=LeaveOneGroupOut()
        )
        fitted = r2_score(y, model.fit(x, y).predict(x))
        rows.append(
            {"model": name, "fitted": fitted, "left out": r2_score(y, predicted)}
        )
    return pd.DataFrame(rows)


def ages_over_time(config: Config, steps: int) -> list[Int[np.ndarray, " n"]]:
    """The ages, in steps, of the queue's entries at each of a run's first `steps` steps.

    An entry of the random first fill has the age -1.
    """
    generator = torch.Generator().manual_seed(0)
    queue = NegativeQueue(
        config.queue_size, 2, config.queue_init, generator, config.queue_growth
    )
    found = []
    for step in range(1, steps + 1):
        found.append(queue.ages(step).numpy())
        queue.enqueue(torch.zeros(config.batch_size, 2), step)
    return found


def nearest(
    systems: dict[str, Encode], asked: Sequence[str], pool: Sequence[str]
) -> pd.DataFrame:
    """For every sentence asked: the closest one of the pool, and its cosine, by every system."""
    found = pd.DataFrame({"sentence": asked})
    for name, encode in systems.items():
        closeness = unit(encode(asked)) @ unit(encode(pool)).T
        found[name] = [pool[i] for i in closeness.argmax(1)]
        found[f"cosine {name}"] = closeness.max(1).round(2)
    return found.set_index("sentence")


def by_aggregation(grid: Grid, runs: pd.DataFrame) -> pd.DataFrame:
    """One row per system: the average over tasks by how the subsets of STS12 to STS16 are put
    together (SimCSE, Tables B.2 and B.3), and the papers' average under two of these ways.

    "all" pools the pairs of all subsets, "mean" averages over subsets, and "wmean" weights them by
    their pairs. The other tasks have one set of pairs, so that "all" stands for all three.
    """
    tasks = [
        column.removesuffix(" all") for column in runs if column.endswith(" test all")
    ]
    divided = [task for task in tasks if re.match(r"STS\d\d ", task)]
    found = {}
    for way in ("all", "mean", "wmean"):
        columns = [f"{task} {way if task in divided else 'all'}" for task in tasks]
        found[way] = runs[columns].mean(axis=1).groupby(runs["label"]).mean()
    table = pd.DataFrame(found).loc[labels_of(grid, runs)]
    paper = paper_numbers("simcse_tableB3", "avg")
    table["paper, all"] = table.index.map(paper_values(grid))
    table["paper, wmean"] = table.index.map({k: paper[v] for k, v in WEIGHTED.items()})
    return table.rename_axis("system").round(2).reset_index()


def cosines_by_grade(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """Cosines of pairs, seed means (SimCSE Figure G.1): label, grade (1: lowest), QUANTILES."""
    rows = [
        (label, grade, *quantiles)
        for label, record in records(grid, profile, seeds)
        for grade, quantiles in enumerate(record.get("cosines", ()), 1)
    ]
    table = pd.DataFrame(rows, columns=["label", "grade", *QUANTILES])
    return table.groupby(["label", "grade"], sort=False).mean().reset_index()


def graded_cosines(table: pd.DataFrame) -> Figure:
    """`cosines_by_grade`: a panel a label, each with its own range of cosines.

    Thin: 5 to 95 % of the pairs; thick: 25 to 75 %; a dot: the median.
    """
    low, lower, median, upper, high = QUANTILES
    style(layout=False)
    grid = sns.FacetGrid(table, col="label", col_wrap=4, height=2.1, sharex=False)
    for label, ax in grid.axes_dict.items():
        part, color = table[table["label"] == label], color_of(label)
        ax.hlines(part["grade"], part[low], part[high], color, lw=1)
        ax.hlines(part["grade"], part[lower], part[upper], color, lw=4)
        ax.plot(part[median], part["grade"], "o", color="white", mec=color, ms=5)
    grid.set(yticks=range(1, GRADES + 1), ylim=(0.5, GRADES + 0.5))
    grid.set_axis_labels("cosine similarity", "grade (5: highest)").set_titles(
        "{col_name}"
    )
    return grid.tight_layout().figure
