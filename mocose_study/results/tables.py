"""Run files gathered into tables."""

import math

import pandas as pd

from mocose_study.claims.stats import interval
from mocose_study.config import FIELDS
from mocose_study.runs.files import is_done, read_run, run_file
from mocose_study.sections.grid import Grid

from .explain import distance_to_optimum

METRIC = "sts_avg"  # of the chosen weights, mean over the test tasks, Spearman x 100
LAST = "sts_last"  # the same of the weights after the last step; runs that train have it
SHAPE = ("alignment dev", "uniformity dev")


def records(grid: Grid, profile: str, seeds=None) -> list[tuple[str, dict]]:
    """The label of its point and the record of every run of a grid that is done."""
    done = [(p.label, c) for p, c in grid.runs(profile, seeds) if is_done(c, profile)]
    return [(label, read_run(run_file(config, profile))) for label, config in done]


def table_of(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """One row for every run of the grid that exists.

    Columns: label of the point, profile, id, every field of the Config, every metric, resampled
    (None, or the average on resampled test pairs), and what `derived` adds.
    """
    rows = []
    for label, record in records(grid, profile, seeds):
        about = {"label": label, "profile": profile, "id": record["id"]}
        fields = {k: str(v) if isinstance(v, list) else v for k, v in record["config"].items()}
        drawn = {"resampled": record.get("resampled"), "rules": record.get("rules")}
        rows.append({**about, **fields, **record["metrics"], **drawn, **derived(record)})
    none = ["label", "profile", "id", *FIELDS, METRIC, "best_step"]
    return pd.DataFrame(rows, columns=None if rows else none)


def derived(record: dict) -> dict:
    """The chosen step, the seconds, whether the run collapsed, and its nearness to the optimum.

    Nearness is minus the distance to the fixed optimum (MoCoSE Figure 4), so that more is better.
    """
    progress, shape = record["progress"], [record["metrics"].get(name) for name in SHAPE]
    found = {
        "best_step": progress["best_step"],
        "seconds": record["seconds"],
        "collapsed": float(bool(progress.get("collapsed"))),
    }
    for norm in (1, 2):
        known = None not in shape
        found[f"nearness_l{norm} dev"] = -distance_to_optimum(*shape, norm) if known else None
    return found


def summary(runs: pd.DataFrame, by: list[str], metric: str = METRIC) -> pd.DataFrame:
    """Mean over seeds with its 95 % interval: columns `by`, mean, low, high, n."""
    rows = []
    for point, group in runs.groupby(by, sort=False, dropna=False):
        i = interval(group[metric].to_numpy())
        rows.append([*point, i.mean, i.low, i.high, i.n])
    return pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "n"])


def markdown(table: pd.DataFrame, digits: int = 1) -> str:
    """The table as Markdown: the first column to the left, numbers to the right, no NaN."""
    cells = [list(table), ["---"] + ["---:"] * (table.shape[1] - 1)]
    cells += table.itertuples(index=False)
    lines = [[_text(cell, digits) for cell in row] for row in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(cell, digits: int) -> str:
    number = isinstance(cell, float)
    return str(cell) if not number else "" if math.isnan(cell) else f"{cell:.{digits}f}"
