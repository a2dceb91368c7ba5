"""Runs gathered into tables."""

import json

import pandas as pd

from mocose_study.config import FIELDS, InputError
from mocose_study.data.files import study_folder
from mocose_lib.evaluation.geometry import distance_to_optimum
from mocose_study.runs.run import is_done, run_file
from mocose_study.claims.stats import interval


def load_runs(profile: str, configs=None) -> pd.DataFrame:
    """One row a run: id, every field of its Config, every metric, best_step, seconds.

    With `configs`, exactly those runs, in that order; raises InputError naming how many are
    missing and the command that makes them. Without, all runs of the profile.
    """
    if configs is None:
        paths = sorted((study_folder() / "data" / "runs" / profile).glob("*.json"))
    else:
        paths = [run_file(config, profile) for config in dict.fromkeys(configs)]
        absent = [path for path in paths if not path.exists()]
        if absent:
            raise InputError(
                f"{len(absent)} of {len(paths)} runs of profile {profile!r} are missing; "
                f"make them with `make study PROFILE={profile}` or mode = 'run'."
            )
    return pd.DataFrame([_row(path) for path in paths], columns=None if paths else ["id", *FIELDS])


def _row(path) -> dict:
    record = read_run(path)
    config = {k: str(v) if isinstance(v, list) else v for k, v in record["config"].items()}
    return {"id": record["id"], **config, **record["metrics"], **_derived(record)}


def _derived(record: dict) -> dict:
    """What follows from a run file: nearness is minus the distance to the fixed optimum (Figure 4)."""
    shape = [record["metrics"].get(f"{name} dev") for name in ("alignment", "uniformity")]
    progress = record["progress"]
    return {
        "best_step": progress["best_step"], "seconds": record["seconds"],
        "collapsed": float(bool(progress.get("collapsed"))),
    } | {
        f"nearness_l{norm} dev": -distance_to_optimum(*shape, norm) if None not in shape else None
        for norm in (1, 2)
    }  # fmt: skip


def read_run(path) -> dict:
    """A run file as it is. Raises InputError when it is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        record["metrics"], record["config"], record["progress"]
        return record
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as cause:
        raise InputError(f"run file {path.name} is damaged ({cause}); delete it to run it again.") from None


def history(profile: str, configs, part: str = "history") -> pd.DataFrame:
    """The training curves: id, step, loss, score (of the split that chose the checkpoint), and
    geometry; with `part` "trajectory" the geometry alone, every `probe_every` steps."""
    records = (read_run(run_file(config, profile)) for config in configs)
    rows = [{"id": r["id"], **row} for r in records for row in r["progress"].get(part, ())]
    return pd.DataFrame(rows, columns=None if rows else ["id", "step", "loss", "score"])


def summary(runs: pd.DataFrame, by: list[str], metric: str = "sts_avg") -> pd.DataFrame:
    """Mean over seeds with its 95 % interval: columns `by`, mean, low, high, n."""
    rows = []
    for point, group in runs.groupby(by, sort=False, dropna=False):
        found = interval(group[metric].to_numpy())
        rows.append({**dict(zip(by, point, strict=True)), "mean": found.mean, "low": found.low,
                     "high": found.high, "n": found.n})  # fmt: skip
    return pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "n"])


def existing(grid, profile: str, seeds=None) -> list[tuple]:
    """(config, label of its point) of every run of a grid that is done."""
    runs = grid.runs(profile, seeds)
    return [(config, point.label) for point, config in runs if is_done(config, profile)]


def table_of(grid, profile: str, seeds=None) -> pd.DataFrame:
    """The runs of a grid that exist, with their point's label in the column `label`."""
    there = existing(grid, profile, seeds)
    runs = load_runs(profile, [config for config, _ in there])
    return runs.assign(label=[label for _, label in there])


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
