"""What notebooks show: the library's own source, and tables beside the paper's numbers."""

import inspect

import pandas as pd
from IPython.display import Markdown

from .claims import verdicts
from .config import StudyError
from .grids import Grid, paper_table
from .results import existing, history, read_run, summary, table_of

METRIC = "sts_avg"
pd.set_option("display.max_colwidth", None)  # claims and reasons are sentences


def source(*objects) -> Markdown:
    """The source of functions or classes, as the library has it at this moment."""
    return Markdown("\n".join(f"```python\n{inspect.getsource(o)}```" for o in objects))


def finished(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """The runs of a grid that exist, labelled. Raises StudyError when there are none."""
    runs = table_of(grid, profile, seeds)
    if runs.empty:
        raise StudyError(
            f"profile {profile!r} has no runs of this section yet; make them with mode = 'run', "
            f"or with `make study PROFILE={profile}`."
        )
    return runs


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


def beside_paper(grid: Grid, runs: pd.DataFrame, metric: str = METRIC) -> pd.DataFrame:
    """A row a point: our mean, 95 % interval and n; the paper's number; and each one's distance
    from the mean of the points that both have, since only differences can be compared."""
    table = summary(runs, ["label"], metric)
    table["paper"] = table["label"].map(paper_values(grid))
    both = table[table["paper"].notna()]
    table["ours, centred"] = table["mean"] - both["mean"].mean()
    table["paper, centred"] = table["paper"] - both["paper"].mean()
    return table.rename(columns={"label": "point"}).round(2)


def verdict_table(grid: Grid, runs: pd.DataFrame) -> pd.DataFrame:
    """What the runs say to the section's claims: verdict, effect with interval, reason."""
    found = verdicts(grid.claims, runs)
    columns = ["id", "text", "verdict", "effect", "low", "high", "n", "level", "p", "reason"]
    return found[columns].round(3).set_index("id")


def training_curves(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """step, loss and dev score of every run of the grid that exists, with label and seed."""
    from .run import run_id

    there = existing(grid, profile, seeds)
    about = pd.DataFrame([{"id": run_id(c), "label": label, "seed": c.seed} for c, label in there])
    return history(profile, [config for config, _ in there]).merge(about, on="id")


def scores_markdown(grid: Grid, profile: str) -> str:
    """A row a point: the seven tasks, their average with its 95 % interval, and n."""
    runs = table_of(grid, profile)
    tasks = [column for column in runs if column.endswith(" test all")]
    lines = [" | ".join(["system", *(t.split()[0] for t in tasks), "avg", "95 % interval", "n"])]
    lines.append(" | ".join(["---"] + ["---:"] * (len(tasks) + 3)))
    for row in summary(runs, ["label"]).itertuples():
        means = runs.loc[runs["label"] == row.label, tasks].mean()
        cells = [row.label, *(f"{m:.1f}" for m in means), f"**{row.mean:.1f}**",
                 f"{row.low:.1f} – {row.high:.1f}", str(row.n)]  # fmt: skip
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def spectra(grid: Grid, profile: str, seeds=None) -> dict[str, list]:
    """Singular values of every run that exists, by label."""
    from .run import run_file

    found: dict[str, list] = {}
    for config, label in existing(grid, profile, seeds):
        found.setdefault(label, []).append(read_run(run_file(config, profile))["spectrum"])
    return found


def wide(values: dict[str, list]) -> pd.DataFrame:
    """Columns of unequal length side by side, by index."""
    return pd.DataFrame({label: pd.Series(column) for label, column in values.items()}).reset_index()
