"""Run files gathered into tables."""

from dataclasses import astuple
from importlib.resources import files

import numpy as np
import pandas as pd

from mocose_study.claims.stats import interval
from mocose_study.config import FIELDS
from mocose_study.runs.files import read_whole, run_file
from mocose_study.sections.grid import Grid

METRIC = "sts_avg"  # of the chosen weights, mean over the test tasks, Spearman x 100
LAST = (
    "sts_last"  # the same of the weights after the last step; runs that train have it
)
ENDS = (
    " all",
    " mean",
    " wmean",
    METRIC,
    LAST,
    "sts_dev",
    "open_avg",
    "outside_avg",
)  # Spearman
SHAPE = ("alignment dev", "uniformity dev")
OPTIMUM = (
    0.0,
    -4.0,
)  # Figure 4 names none; this is perfect alignment and the best uniformity


def records(grid: Grid, profile: str, seeds=None) -> list[tuple[str, dict]]:
    """The label of its point and the record of every run of a grid that is done."""
    found = (
        (p.label, read_whole(run_file(c, profile)))
        for p, c in grid.runs(profile, seeds)
    )
    return [(label, record) for label, record in found if record]


def table_of(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """One row for every run of the grid that exists.

    Columns: label of the point, profile, id, every field of the Config, every metric, resampled
    (None, or the average on resampled test pairs), and what `derived` adds. A correlation that is
    undefined, since all sentences have one vector, counts as 0: such vectors order nothing. So does
    it in the average of the tasks.
    """
    rows = []
    for label, record in records(grid, profile, seeds):
        row = {"label": label, "profile": profile, "id": record["id"]}
        row |= {
            k: str(v) if isinstance(v, list) else v for k, v in record["config"].items()
        }
        metrics = record["metrics"].items()
        row |= {k: 0.0 if v is None and k.endswith(ENDS) else v for k, v in metrics}
        row[METRIC] = average(record["metrics"])
        rows.append(row | {"resampled": record.get("resampled")} | derived(record))
    none = ["label", "profile", "id", *FIELDS, METRIC, "finished", "best_step"]
    return pd.DataFrame(rows, columns=None if rows else none)


def average(metrics: dict) -> float:
    """A run's `sts_avg`; where it is undefined, the mean over tasks with 0 for undefined ones."""
    tasks = [v or 0.0 for k, v in metrics.items() if k.endswith(" test all")] or [0.0]
    return float(np.mean(tasks)) if metrics[METRIC] is None else metrics[METRIC]


def derived(record: dict) -> dict:
    """Chosen step, seconds, end, whether the run collapsed, its nearness to the optimum.

    Nearness is minus the distance to the fixed optimum (MoCoSE Figure 4), so that more is better.
    """
    progress, shape = (
        record["progress"],
        [record["metrics"].get(name) for name in SHAPE],
    )
    l1, l2 = (
        None if None in shape else -distance_to_optimum(*shape, norm) for norm in (1, 2)
    )
    return {
        "best_step": progress["best_step"],
        "seconds": record["seconds"],
        "finished": record["stamp"].get("finished"),
        "collapsed": float(bool(progress.get("collapsed"))),
        "nearness_l1 dev": l1,
        "nearness_l2 dev": l2,
    }


def summary(runs: pd.DataFrame, metric: str = METRIC) -> pd.DataFrame:
    """Mean over the `n` seeds with a number, and its 95 % interval: label, mean, low, high, n."""
    points = runs.groupby("label", sort=False)
    rows = [
        (label, *astuple(interval(found[metric].dropna()))) for label, found in points
    ]
    return pd.DataFrame(rows, columns=["label", "mean", "low", "high", "n"])


def filled(template: str, **values) -> str:
    """A file of `templates/` with the values in their places."""
    return (
        (files(__package__) / "templates" / template)
        .read_text("utf-8")
        .format(**values)
    )


def markdown(table: pd.DataFrame) -> str:
    """The table as Markdown: the first column to the left, numbers to the right, no NaN."""
    told = table.apply(aligned, places=1).itertuples(index=False)
    rows = [list(table), ["---"] + ["---:"] * (table.shape[1] - 1), *told]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def aligned(column: pd.Series, places: int | None = None) -> pd.Series:
    """The column for people: empty where there is no number; `places` decimals, or those needed."""
    if column.dtype != float:
        return column.astype(object).where(column.notna(), "")
    shortest = [
        np.format_float_positional(value, trim="-") for value in column.dropna()
    ]
    places = places or max(
        (len(number.partition(".")[2]) for number in shortest), default=0
    )
    return column.map(lambda value: "" if np.isnan(value) else f"{value:.{places}f}")


def distance_to_optimum(align: float, uniform: float, norm: int) -> float:
    """L1 or L2 distance of (alignment, uniformity) to `OPTIMUM` (MoCoSE Figure 4)."""
    return float(np.linalg.norm([align - OPTIMUM[0], uniform - OPTIMUM[1]], norm))
