"""What notebooks show: the library's own source, and tables beside the paper's numbers."""

import inspect
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
from IPython.display import Markdown
from transformers.utils.logging import disable_progress_bar

from mocose_study.claims.effects import RESAMPLED, difference, scores
from mocose_study.config import PROFILES, Config, InputError, choose, vary
from mocose_study.data.files import encoders_folder
from mocose_study.runs.files import read_run, run_file
from mocose_study.sections.grid import Grid, paper_numbers, paper_table

from .tables import LAST, METRIC, aligned, average, markdown, records, summary, table_of

ERRORS = [
    "difference of",
    "points",
    "standard error, seeds",
    "standard error, test pairs",
]
MODES = {"load": "shows finished runs", "run": "makes those that are missing"}
POOLINGS = [
    "[CLS]",
    "mean",
    "first-last",
]  # untrained systems of the section `pretraining`
STALENESS = (
    "equation 4",
    "after 25 %",
    "after 50 %",
    "after 75 %",
    "retained of the oldest",
)
pd.set_option("display.max_colwidth", None)  # claims and reasons are sentences
pd.set_option("display.max_rows", 100)
disable_progress_bar()  # the bar of a loaded model is no result


def check_parameters(profile: str, mode: str, seeds: Sequence[int] | None) -> None:
    """Raises InputError for a value that the cell `parameters` of a notebook cannot have."""
    choose(PROFILES, profile, "profile")
    choose(MODES, mode, "mode")
    listed = isinstance(seeds, list | tuple | range) and len(seeds) > 0
    if seeds is not None and not (
        listed and all(type(s) is int and s >= 0 for s in seeds)
    ):
        raise InputError(
            f"seeds = {seeds!r} is not possible; give None for all seeds of the profile, or a list "
            "such as [0, 1]."
        )


def source(*objects) -> Markdown:
    """The source of functions or classes, as the library has it at this moment."""
    return Markdown("\n".join(f"```python\n{inspect.getsource(o)}```" for o in objects))


def blank(table: pd.DataFrame) -> pd.DataFrame:
    """The table for people: rows named by its first column, unless they have names already, empty
    cells where there is no number, and the same number of decimals all the way down a column."""
    if isinstance(table.index, pd.RangeIndex) and table.shape[1]:
        table = table.set_index(table.columns[0])
    if (
        table.columns.nlevels == table.index.nlevels == 1
    ):  # so that the head has one row
        table = table.rename_axis(index=None, columns=table.index.name)
    return table.apply(aligned)


def runs_of(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """The runs of a grid that exist (`tables.table_of`); prints how many, and which points lack."""
    runs = table_of(grid, profile, seeds)
    if len(runs):
        print(f"{len(runs)} runs of profile {profile}, {runs['seed'].nunique()} seeds")
        absent = [
            p.label
            for p in grid.points_at(profile)
            if p.label not in set(runs["label"])
        ]
        if absent:
            print(f"no runs yet: {'; '.join(absent)}")
    elif grid.points_at(profile):
        print(
            f"No runs of this part at profile {profile} yet; mode = 'run' makes them."
        )
    else:
        print(f"Profile {profile} has no runs of this part: its points start at tiny.")
    return runs


def labels_of(grid: Grid, runs: pd.DataFrame) -> list[str]:
    """The labels that have runs, in the order in which the grid writes its points down."""
    return [point.label for point in grid.points if point.label in set(runs["label"])]


def by_seed(runs: pd.DataFrame, against: str | dict[str, str], metric: str = METRIC):
    """Differences of points, one row per point and seed: columns seed, label, difference.

    `against` is the label that all are compared with, or a dict that names one for each. Only the
    seeds that both points have count.
    """
    wide = runs.pivot(index="seed", columns="label", values=metric)
    if isinstance(against, str):
        against = {
            label: against for label in runs["label"].unique() if label != against
        }
    there = {a: b for a, b in against.items() if {a, b} <= set(wide)}
    table = pd.DataFrame(
        {a: wide[a] - wide[b] for a, b in there.items()}, index=wide.index
    )
    return (
        table.reset_index()
        .melt("seed", var_name="label", value_name="difference")
        .dropna()
    )


def differences(
    runs: pd.DataFrame, against: str | dict[str, str], metric: str = METRIC
):
    """The mean of `by_seed` for each point, with its 95 % interval and n."""
    found = summary(by_seed(runs, against, metric), "difference")
    return found.rename(columns={"label": "point", "mean": "difference"})


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
        sides = [scores(label, runs, RESAMPLED) for label in (a, b)]
        if all(side.by_seed for side in sides):
            effect = difference(*sides)
            rows.append((f"{a} - {b}", effect.mean, *effect.errors()))
    return pd.DataFrame(rows, columns=ERRORS)


def stored(config: Config, profile: str) -> str:
    """The mean score of the runs that differ from `config` in nothing but the seed, in words."""
    files = [run_file(vary(config, seed=seed), profile) for seed in range(10)]
    found = [average(read_run(file)["metrics"]) for file in files if file.exists()]
    mean = f", Spearman × 100: {np.mean(found):.2f} on average" if found else ""
    return f"{len(found) or 'no'} runs of {config.steps:,} steps at profile {profile}{mean}"


def two_way(grid: Grid, values: dict[str, float]) -> pd.DataFrame:
    """Values by label, where labels are "row, column", in the form of the paper's table."""
    paper = paper_table(grid.paper)
    row, column = paper.columns[:2].str.replace("_", " ")
    cells = [
        (*label.split(", "), value) for label, value in values.items() if ", " in label
    ]
    table = pd.DataFrame(cells, columns=[row, column, "value"]).astype({row: int})
    table = table.pivot(index=row, columns=column, values="value")
    return table.reindex(columns=paper.iloc[:, 1].unique())


def staleness(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """The age of the queue in each point's runs, mean over seeds.

    Columns: the traceable distance in steps by equation 4, as measured after a quarter, a half and
    three quarters of the training, and the share that the oldest keys retain after a half of it
    (`mocose_lib.evaluation.staleness`).
    """
    rows = []
    for label, record in records(grid, profile, seeds):
        config, found = (
            Config.from_dict(record["config"]),
            record["progress"]["staleness"],
        )
        if len(found) == 3 and found[1]["retained"]:
            measured = [empirical_distance(moment, config) for moment in found]
            rows.append(
                (label, config.traceable_distance, *measured, found[1]["retained"][-1])
            )
    table = pd.DataFrame(rows, columns=["point", *STALENESS])
    return table.groupby("point", sort=False).mean().round(2)


def empirical_distance(found: dict[str, list[float]], config: Config) -> float:
    """Equation 4 of MoCoSE in steps, each queued key counted by the share of it that is left."""
    left = float(np.dot(found["retained"], found["n"]))
    return config.traceable_distance + (left - config.queue_size) / config.batch_size


def paper_values(grid: Grid, metric: str = "avg") -> dict[str, float]:
    """The paper's number of every point it has, by the point's label."""
    if grid.paper is None:
        return {}
    values = paper_numbers(grid.paper, metric)
    named = {point.label: point.paper or point.label for point in grid.points}
    return {label: values[name] for label, name in named.items() if name in values}


def beside_paper(
    grid: Grid, runs: pd.DataFrame, metric=METRIC, paper_metric="avg", places=2
):
    """One row per point: our mean, 95 % interval and n; the score after the last step beside the
    one of the chosen weights; and the paper's number, where there is one.

    Only differences can be compared with the paper. So both are also centred: given as distances
    from the median of the points that both have, which one broken point does not move.
    """
    table = summary(runs, metric).set_index("label").loc[labels_of(grid, runs)]
    if metric == METRIC and LAST in runs:
        table["last step"] = runs.groupby("label")[LAST].mean()
    if paper := paper_values(grid, paper_metric):
        table["paper"] = table.index.map(paper).astype(float)
        both = table[table["paper"].notna()]
        table["ours, centred"] = table["mean"] - both["mean"].median()
        table["paper, centred"] = table["paper"] - both["paper"].median()
    return table.rename_axis("point").reset_index().round(places)


def by_task(grid: Grid, runs: pd.DataFrame, paper: dict[str, float], places: int = 2):
    """One row per system: the mean of each test task, their average with its 95 % interval, n,
    the average after the last step, and the papers' average."""
    tasks = [column for column in runs if column.endswith(" test all")]
    means = runs.groupby("label")[tasks].mean().loc[labels_of(grid, runs)]
    means = means.rename(columns=lambda column: column.removesuffix(" test all"))
    all_tasks = (
        beside_paper(grid, runs, places=9)
        .set_index("point")
        .rename(columns={"mean": "avg"})
    )
    table = means.join(all_tasks.filter(["avg", "low", "high", "n", "last step"]))
    table = table.assign(paper=table.index.map(paper).astype(float))
    return table.rename_axis("system").round(places).reset_index()


def scores_markdown(grid: Grid, profile: str) -> str:
    """`by_task` as Markdown, without the paper's numbers; what is rounded is rounded once, here."""
    return markdown(by_task(grid, table_of(grid, profile), {}, 9).drop(columns="paper"))


def training_curves(
    grid: Grid, profile: str, seeds=None, part: str = "history"
) -> pd.DataFrame:
    """The training curves of a grid's runs: label, seed, step, loss, and what was measured.

    `part` "history" has a row for every evaluation, with the score that chooses the weights;
    "trajectory" has a row for every probe of the geometry.
    """
    order = [point.label for point in grid.points]
    rows = [
        {"label": label, "seed": record["config"]["seed"], **row}
        for label, record in sorted(
            records(grid, profile, seeds), key=lambda x: order.index(x[0])
        )
        for row in record["progress"].get(part, ())
    ]
    return pd.DataFrame(
        rows, columns=None if rows else ["label", "seed", "step", "loss", "score"]
    )


def spectra(grid: Grid, profile: str, seeds=None) -> dict[str, list]:
    """Singular values of every run that exists, by label."""
    found: dict[str, list] = {}
    for label, record in records(grid, profile, seeds):
        found.setdefault(label, []).append(record["spectrum"])
    return found


def pretraining_gains(runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mean scores by encoder, millions of tokens and system; and the trained runs with columns
    encoder, tokens, system and gain, the distance from the encoder's best untrained pooling.

    Labels are "encoder, system". An encoder that was kept while its pre-training went on is named
    by its millions of tokens, as in "tiny-long-4M".
    """
    parts = runs["label"].str.split(", ", expand=True)
    encoder = parts[0].str.replace(r"-\d+M$", "", regex=True)
    table = runs.assign(
        encoder=encoder, tokens=parts[0].map(_million_tokens), system=parts[1]
    )
    means = table.pivot_table(
        METRIC, ["encoder", "tokens"], "system", sort=False
    ).sort_index()
    poolings = means.columns.intersection(POOLINGS)
    best = means[poolings].max(axis=1).rename("best")
    trained = table[~table["system"].isin(poolings)].join(
        best, on=["encoder", "tokens"]
    )
    return means, trained.assign(gain=trained[METRIC] - trained["best"])


def _million_tokens(encoder: str) -> int:
    if encoder.endswith("M"):
        return int(encoder.rpartition("-")[2][:-1])
    record = json.loads((encoders_folder() / encoder / "pretraining.json").read_text())
    return round(record["tokens"] / 1e6)


def wide(values: dict[str, list]) -> pd.DataFrame:
    """Columns of unequal length side by side, by index."""
    return pd.DataFrame(
        {name: pd.Series(column) for name, column in values.items()}
    ).reset_index()
