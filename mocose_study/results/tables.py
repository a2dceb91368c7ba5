"""Run files gathered into tables."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd

from mocose_study.claims.stats import Interval, difference, interval
from mocose_study.claims.verdicts import scores
from mocose_study.data import benchmarks
from mocose_study.data.files import study_folder
from mocose_study.data.labelled import TRANSFER
from mocose_study.runs.files import read_whole, run_ids
from mocose_study.sections.section import Section
from mocose_study.systems import draws

METRIC = "sts_avg"  # of the chosen weights, mean over the test tasks, Spearman x 100
LAST = "sts_last"  # the same of the weights after the last step
ALL_PAIRS = " test all"  # how a task's column ends, in which all of its pairs count
TASKS = {t + ALL_PAIRS: t for t in (*benchmarks.STS, *benchmarks.OPEN_TESTS)}
PAPERS_METRIC = TASKS | {f"{task} test": task for task in TRANSFER}
PAPERS_METRIC |= dict.fromkeys((METRIC, LAST, "sts_wmean", "transfer_avg"), "avg")
PAPERS_METRIC |= {"sts_dev": "STS-B dev", "transfer_dev_avg": "transfer avg dev"}
SPEARMAN = (*TASKS, METRIC, LAST, "sts_dev", "outside_avg")
EMPTY = ["label", "method", "seed", METRIC, LAST]  # columns where there is no run
SHAPE = ("alignment dev", "uniformity dev")
OPTIMUM = (0.0, -4.0)  # of alignment and uniformity; MoCoSE Figure 4 names none


def own_folder(profile: str) -> Path:
    """Where a notebook's own runs go: runs/<profile>, which git ignores."""
    return study_folder() / "runs" / profile


def looked_up(section: Section, profile: str, seeds=None) -> list[tuple]:
    """Label, Config and record of every run of a section, the study's or one's own.

    The record is None where there is none.
    """
    runs = section.runs(profile, seeds)
    ours, own = study_folder() / "data" / "runs" / profile, own_folder(profile)
    files = [f"{name}.json" for name in run_ids(config for _, config in runs)]
    read = (read_whole(ours / file) or read_whole(own / file) for file in files)
    return [(*run, record) for run, record in zip(runs, read, strict=True)]


def records(section: Section, profile: str, seeds=None) -> list[tuple]:
    """Label, Config and record of the runs that are done."""
    return [run for run in looked_up(section, profile, seeds) if run[-1]]


def table_of(section: Section, profile: str, seeds=None) -> pd.DataFrame:
    """One row for every run of the section that is done.

    Columns: label, every field of the Config, every metric; nearness_l2: minus the
    distance of alignment and uniformity to `OPTIMUM`; mean_cosine_last: of a sample of
    the dev split, after the last step; distance: equation 4; fixed: the run draws
    nothing, so that one seed stands for all; sts_mean, sts_wmean: `over_subsets`. Where
    all vectors are equal a correlation is undefined, and counts as 0: no order.
    """
    rows = []
    for label, config, record in records(section, profile, seeds):
        metrics = {LAST: record["metrics"][METRIC], **record["metrics"]}
        place = np.array([metrics.get(name) for name in SHAPE], float)
        row = {"label": label, **record["config"], **metrics, **over_subsets(metrics)}
        row["nearness_l2 dev"] = -np.linalg.norm(place - OPTIMUM)
        row["best_step"] = record["progress"].get("best_step")
        if history := record["progress"].get("history"):
            row["mean_cosine_last"] = history[-1].get("mean_cosine")
        row |= {name: record["stamp"].get(name) for name in ("finished", "device")}
        row["distance"], row["fixed"] = config.traceable_distance, not draws(config)
        undefined = [k for k, v in row.items() if v is None and k in SPEARMAN]
        rows.append(row | dict.fromkeys(undefined, 0.0))
    return pd.DataFrame(rows, columns=None if rows else EMPTY)


def over_subsets(metrics: Mapping[str, float]) -> dict[str, float]:
    """The mean over the test tasks, subsets of a task averaged, not pooled.

    STS-B and SICK-R are one set each, whatever their genres (SimCSE, appendix B).
    """
    means = {}
    for how in ("mean", "wmean"):
        ways = {x: x.removesuffix("all") + how for x in metrics if ALL_PAIRS in x}
        ways |= {x: x for x in ways if x.startswith(("STS-B", "SICK-R"))}
        scores = [metrics.get(way, metrics[x]) for x, way in ways.items()]
        means[f"sts_{how}"] = np.array(scores, float).mean() if scores else np.nan
    return means


def paper_of(section: Section, metric: str) -> dict[str, float]:
    """The paper's numbers of a metric of the runs, by label."""
    return section.paper_values(PAPERS_METRIC.get(metric, metric))


def summary(runs: pd.DataFrame, metric: str = METRIC) -> pd.DataFrame:
    """Mean over the `n` seeds with a number, its 95 % interval, one row per label."""
    points = runs.groupby("label", sort=False)
    rows = [(label, *astuple(interval(p[metric].dropna()))) for label, p in points]
    return pd.DataFrame(rows, columns=["label", "mean", "low", "high", "n"])


def beside_paper(
    section: Section, runs: pd.DataFrame, metric: str = METRIC
) -> pd.DataFrame:
    """One row per point: our mean, interval and n; the last step; the paper's number.

    Only differences can be compared with the paper, so both are also given as
    distances from the median of the points that both have.
    """
    table = summary(runs, metric).set_index("label")
    table = table.reindex([label for label in section.points if label in table.index])
    if metric == METRIC and len(runs):
        table["last step"] = runs.groupby("label")[LAST].mean()
    if paper := paper_of(section, metric):
        table["the paper"] = table.index.map(paper).astype(float)
        both = table[table["the paper"].notna()]
        table["ours, centred"] = table["mean"] - both["mean"].median()
        centre = both["the paper"].median()
        table["the paper, centred"] = table["the paper"] - centre
    return table.rename_axis("point")


def unstacked(values: Mapping[str, float], section: Section) -> pd.DataFrame:
    """Values by label as the table of the points that have a cell, in their order."""
    cells = {x: point["cell"] for x, point in section.points.items() if "cell" in point}
    table = pd.Series(values, index=list(cells), dtype=float)
    table.index = pd.MultiIndex.from_tuples(cells.values())
    return table.unstack(sort=False)


def differences(
    runs: pd.DataFrame, labels: Sequence[str], reference: str, metric: str = METRIC
) -> dict[str, tuple[np.ndarray, Interval]]:
    """By label, each seed's difference from a point, and that of the means, as judged.

    Where the two share no random streams, it is that from the mean of the point.
    """
    runs, gaps = runs.dropna(subset=[metric]), {}
    b = scores(runs, reference, metric)
    theirs = pd.Series(b.by_seed, dtype=float)
    for label in labels:
        a = scores(runs, label, metric)
        ours = pd.Series(a.by_seed, dtype=float)
        paired = a.streams == b.streams and not (a.fixed or b.fixed)
        each = ours - (theirs.reindex(ours.index) if paired else theirs.mean())
        gaps[label] = each.dropna().to_numpy(), difference(a, b)
    return gaps


def filled(template: str, **values) -> str:
    """A file of `templates/` with the values in their places."""
    path = files(__package__) / "templates" / template
    return path.read_text("utf-8").format(**values)


def markdown(table: pd.DataFrame, places: int = 1) -> str:
    """The table as Markdown: its first column to the left, numbers to the right."""
    cells = table.apply(aligned, places=places).itertuples(index=False)
    rows = [list(table), ["---"] + ["---:"] * (table.shape[1] - 1), *cells]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def aligned(column: pd.Series, places: int = 2) -> pd.Series:
    """The column to be shown: numbers with `places` decimals, empty where none is."""
    if column.dtype.kind != "f":
        return column.astype(object).where(column.notna(), "")
    if column.name == "n" and column.dropna().mod(1).eq(0).all():
        places = 0
    return column.map(lambda x: f"{x:.{places}f}" if np.isfinite(x) else "")


def signed(effect: float) -> str:
    """A difference with its sign and one decimal; empty where there is none."""
    return "" if pd.isna(effect) else f"{effect:+.1f}"
