"""What notebooks show: the library's own source, and tables beside the paper's numbers."""

import inspect

import pandas as pd
from IPython.display import Markdown
from scipy.stats import kendalltau

from mocose_study.claims.verdicts import verdicts
from mocose_study.config import Config, InputError, vary
from mocose_study.sections.grid import Grid, paper_table
from mocose_study.results.tables import (
    existing,
    history,
    load_runs,
    markdown_table,
    read_run,
    summary,
    table_of,
)
from mocose_study.runs.run import is_done, run_file, run_id
from mocose_study.claims.stats import interval

METRIC = "sts_avg"
pd.set_option("display.max_colwidth", None)  # claims and reasons are sentences


def source(*objects) -> Markdown:
    """The source of functions or classes, as the library has it at this moment."""
    return Markdown("\n".join(f"```python\n{inspect.getsource(o)}```" for o in objects))


def finished(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """The runs of a grid that exist, labelled. Raises InputError when there are none."""
    runs = table_of(grid, profile, seeds)
    if runs.empty:
        raise _without_runs(profile)
    return runs


def _without_runs(profile: str) -> InputError:
    return InputError(
        f"profile {profile!r} has no runs of this section yet; make them with mode = 'run', "
        f"or with `make study PROFILE={profile}`."
    )


def overview(grids: dict[str, Grid], profile: str, seeds=None) -> pd.DataFrame:
    """A row a grid: its question, and how many of its runs are there.

    Raises InputError when not one of any grid is.
    """
    rows = [{"grid": name, "question": grid.question, "runs": len(existing(grid, profile, seeds)),
             "of": len(grid.configs(profile, seeds))} for name, grid in grids.items()]  # fmt: skip
    if not any(row["runs"] for row in rows):
        raise _without_runs(profile)
    return pd.DataFrame(rows).set_index("grid")


def runs_of(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """`finished`, for one of several grids: says how many runs there are, and if there are none."""
    runs = table_of(grid, profile, seeds)
    if len(runs):
        print(f"{len(runs)} runs of profile {profile}, {runs['seed'].nunique()} seeds")
    elif grid.points_at(profile):
        print(f"No runs of this part at profile {profile} yet; mode = 'run' makes them.")
    else:
        print(f"Profile {profile} has no runs of this part: its points start at tiny.")
    return runs


def labels_of(grid: Grid, runs: pd.DataFrame) -> list[str]:
    """The labels that have runs, in the order in which the grid writes its points down."""
    there = set(runs["label"])
    return [point.label for point in grid.points if point.label in there]


def differences(
    runs: pd.DataFrame, against: str | dict[str, str], metric: str = METRIC
) -> pd.DataFrame:
    """A row a point: its mean difference to the point `against`, or to the one that a dict names
    for it, paired by seed, with 95 % interval and n."""
    found = by_seed(runs, against, metric).groupby("point", sort=False)["difference"].agg(interval)
    rows = [(label, i.mean, i.low, i.high, i.n) for label, i in found.items()]
    return pd.DataFrame(rows, columns=["point", "difference", "low", "high", "n"])


def by_seed(
    runs: pd.DataFrame, against: str | dict[str, str], metric: str = METRIC
) -> pd.DataFrame:
    """What `differences` sums up: a row a point and a seed that both points have."""
    scores = runs.pivot(index="seed", columns="label", values=metric)
    if isinstance(against, str):
        against = {label: against for label in runs["label"].unique() if label != against}
    gaps = {label: scores[label] - scores[other]
            for label, other in against.items() if {label, other} <= set(scores)}  # fmt: skip
    table = pd.DataFrame(gaps, index=scores.index).reset_index()
    return table.melt("seed", var_name="point", value_name="difference").dropna()


def stored(config: Config, profile: str) -> str:
    """What the runs that differ from `config` in nothing but the seed have scored, in words."""
    seeds = [vary(config, seed=seed) for seed in range(10)]
    there = [c for c in seeds if is_done(c, profile)]
    if not there:
        return f"no runs at profile {profile}"
    scores = load_runs(profile, there)[METRIC]
    return f"{len(there)} runs at profile {profile}, Spearman × 100: {scores.mean():.2f} on average"


def pivoted(grid: Grid, runs: pd.DataFrame, metric: str = METRIC) -> pd.DataFrame:
    """Means of a two-way grid, whose labels are "row, column", as a table."""
    return _two_way(runs.groupby("label", sort=False)[metric].mean().to_dict(), grid)


def pivoted_paper(grid: Grid) -> pd.DataFrame:
    """The paper's table in the same form."""
    return _two_way(paper_values(grid), grid)


def _two_way(values: dict[str, float], grid: Grid) -> pd.DataFrame:
    """Rows by size, columns in the order of the paper's table."""
    row, column = (name.replace("_", " ") for name in grid.paper_by)
    cells = [(*label.split(", "), value) for label, value in values.items()]
    table = pd.DataFrame(cells, columns=[row, column, "value"]).astype({row: int})
    order = paper_table(grid.paper)[grid.paper_by[1]].unique()
    return table.pivot(index=row, columns=column, values="value").reindex(columns=order)


def rankings(runs: pd.DataFrame, metric: str = METRIC) -> tuple[pd.DataFrame, float]:
    """Means of runs labelled "system, benchmark": a row a system that both have, a column each;
    and Kendall's tau (b) between the two columns, NaN for fewer than two systems."""
    means = runs.groupby("label")[metric].mean()
    names = means.index.str.rpartition(", ")
    table = pd.DataFrame({"system": names.get_level_values(0), "benchmark": names.get_level_values(2),
                          "mean": means.to_numpy()})  # fmt: skip
    table = table.pivot(index="system", columns="benchmark", values="mean").dropna()
    table = table.sort_values("real", ascending=False)
    return table, float(kendalltau(table["real"], table["generated"]).statistic)


def searched(runs: pd.DataFrame, metric: str = "sts_dev") -> pd.DataFrame:
    """The points of a search, best first: score on the dev split, and the step of the best one."""
    found = runs.groupby("label", sort=False)[[metric, "best_step"]].mean()
    return found.sort_values(metric, ascending=False).rename_axis("point").round(2)


def staleness(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """Of every run with a queue: label, seed, traceable distance by equation 4, the empirical one
    and the share retained of the oldest keys (`staleness.summary`)."""
    rows = []
    for config, label in existing(grid, profile, seeds):
        if found := read_run(run_file(config, profile))["progress"].get("staleness"):
            rows.append({"label": label, "seed": config.seed, "equation 4": config.traceable_distance,
                         "empirical": found["empirical_distance"],
                         "retained of the oldest": found["retained"][-1]})  # fmt: skip
    columns = ["label", "seed", "equation 4", "empirical", "retained of the oldest"]
    return pd.DataFrame(rows, columns=columns)


def paper_values(grid: Grid, metric: str = "avg") -> dict[str, float]:
    """The paper's number of every point it has, by the point's label."""
    if grid.paper is None:
        return {}
    table = paper_table(grid.paper)
    table = table[table["metric"] == metric]
    keys = table[list(grid.paper_by)].agg(", ".join, axis=1)
    values = dict(zip(keys, table["value"], strict=True))
    named = {point.label: point.paper or point.label for point in grid.points}
    return {label: values[name] for label, name in named.items() if name in values}


def beside_paper(
    grid: Grid, runs: pd.DataFrame, metric: str = METRIC, paper_metric: str = "avg"
) -> pd.DataFrame:
    """A row a point: our mean, 95 % interval and n; the paper's number; and each one's distance
    from the mean of the points that both have, since only differences can be compared."""
    table = summary(runs, ["label"], metric).set_index("label")
    table = table.loc[labels_of(grid, runs)].reset_index()
    table["paper"] = table["label"].map(paper_values(grid, paper_metric)).astype(float)
    both = table[table["paper"].notna()]
    table["ours, centred"] = table["mean"] - both["mean"].mean()
    table["paper, centred"] = table["paper"] - both["paper"].mean()
    return table.rename(columns={"label": "point"}).round(2)


def verdict_table(grid: Grid, runs: pd.DataFrame) -> pd.DataFrame:
    """What the runs say to the section's claims: verdict, effect with interval, reason."""
    found = verdicts(grid.claims, runs)
    columns = ["id", "text", "verdict", "effect", "low", "high", "n", "level", "p", "reason"]
    return found[columns].round(3).set_index("id")


def training_curves(grid: Grid, profile: str, seeds=None, part: str = "history") -> pd.DataFrame:
    """`results.history` of every run of the grid that exists, with label and seed."""
    there = existing(grid, profile, seeds)
    about = [{"id": run_id(c), "label": label, "seed": c.seed} for c, label in there]
    about = pd.DataFrame(about, columns=["id", "label", "seed"])
    return history(profile, [config for config, _ in there], part).merge(about, on="id")


def scores_markdown(grid: Grid, profile: str) -> str:
    """A row a point: the seven tasks, their average with its 95 % interval, and n."""
    runs = table_of(grid, profile)
    tasks = [column for column in runs if column.endswith(" test all")]
    head = ["system", *(t.split()[0] for t in tasks), "avg", "95 % interval", "n"]
    rows = []
    for row in summary(runs, ["label"]).itertuples():
        means = runs.loc[runs["label"] == row.label, tasks].mean()
        rows.append([row.label, *(f"{m:.1f}" for m in means), f"**{row.mean:.1f}**",
                     f"{row.low:.1f} – {row.high:.1f}", str(row.n)])  # fmt: skip
    return markdown_table(head, rows)


def by_task(grid: Grid, runs: pd.DataFrame, paper: dict[str, float]) -> pd.DataFrame:
    """A row a system: mean of each of the seven tasks, their average with its 95 % interval, n, and
    the papers' average."""
    tasks = [column for column in runs if column.endswith(" test all")]
    means = runs.groupby("label")[tasks].mean()
    means = means.rename(columns=lambda column: column.removesuffix(" test all"))
    average = summary(runs, ["label"]).set_index("label").rename(columns={"mean": "avg"})
    table = means.join(average).loc[labels_of(grid, runs)]
    return table.assign(paper=table.index.map(paper)).rename_axis("system").round(2).reset_index()


def paper_by_task(grids: list[Grid]) -> pd.DataFrame:
    """The papers' numbers of the same systems: a row each, a column a task."""
    tasks = list(dict.fromkeys(m for grid in grids for m in paper_table(grid.paper)["metric"]))
    columns = {t: {k: v for g in grids for k, v in paper_values(g, t).items()} for t in tasks}
    order = list(dict.fromkeys(point.label for grid in grids for point in grid.points))
    table = pd.DataFrame(columns)
    return table.loc[[label for label in order if label in table.index]].rename_axis("system")


def notes(modules: dict) -> pd.DataFrame:
    """What the first lines of a method's file say: which equation it has, and what differs."""
    texts = {name: " ".join(inspect.getdoc(module).split()) for name, module in modules.items()}
    return pd.DataFrame({"says": texts}).rename_axis("method")


def spectra(grid: Grid, profile: str, seeds=None) -> dict[str, list]:
    """Singular values of every run that exists, by label."""
    found: dict[str, list] = {}
    for config, label in existing(grid, profile, seeds):
        found.setdefault(label, []).append(read_run(run_file(config, profile))["spectrum"])
    return found


def wide(values: dict[str, list]) -> pd.DataFrame:
    """Columns of unequal length side by side, by index."""
    return pd.DataFrame({label: pd.Series(column) for label, column in values.items()}).reset_index()
