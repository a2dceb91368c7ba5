"""Figures from runs alone; the table of a figure lies beside it under the same name.

Rows are settings and the horizontal axis is a score or a difference, so that long names fit.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.markers import CARETLEFT, CARETRIGHT

from mocose_study.data.files import study_folder

from .style import (
    OURS,
    PAPER,
    dot_rows,
    log_axis,
    mark_legend,
    panel,
    rows_figure,
    style,
    styles,
)

POINTS = "Spearman × 100 (mean of the test tasks)"
BESIDE = {
    "title": "",
    "loc": "upper left",
    "bbox_to_anchor": (1, 1),
}  # a legend to the right


def save(figure: Figure, table: pd.DataFrame, profile: str, stem: str) -> Path:
    """figures/<profile>/<stem>.svg and .csv, the same bytes from the same runs."""
    folder = study_folder() / "figures" / profile
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / f"{stem}.csv", index=False, float_format="%.4f")
    figure.savefig(path := folder / f"{stem}.svg", metadata={"Date": None})
    return path


def scores(
    runs: pd.DataFrame, labels: list[str], metric: str, varied: str, unit=POINTS
) -> Figure:
    """A row a setting: seeds, mean and 95 % interval. A unit of one's own has its zero marked."""
    figure, ax = rows_figure(labels, unit, varied)
    if unit != POINTS:
        ax.axvline(0, color="black", lw=0.8)
    dot_rows(
        ax,
        {name: runs.loc[runs["label"] == name, metric].to_numpy() for name in labels},
    )
    return figure


def beside_paper(
    runs: pd.DataFrame,
    labels: list[str],
    paper: dict[str, float],
    metric: str,
    varied: str,
    reference: str | None = None,
    claims: Sequence = (),
) -> Figure:
    """A row a setting: its difference from `reference`, ours and the paper's on one axis.

    Encoder and data differ between the two, so only differences can be compared. Ours are paired
    by seed. reference: a label; where it has no runs, the paper's best setting, or the first.
    claims: those on `metric` have an arrow where they begin to hold.
    """
    known = [label for label in labels if label in paper]
    if reference not in labels:
        reference = max(known, key=paper.get, default=(labels or [""])[0])
    level = f"{runs.loc[runs['label'] == reference, metric].mean():.1f} here"
    level += f", {paper[reference]:.1f} in the paper" if reference in paper else ""
    figure, ax = rows_figure(
        labels, f"points above or below “{reference}”\n({level})", varied
    )
    if reference in paper:
        gaps = {labels.index(name): paper[name] - paper[reference] for name in known}
        ax.plot(
            list(gaps.values()),
            list(gaps),
            "D",
            color=PAPER,
            ms=6,
            mfc="none",
            zorder=4,
        )
    edges = [
        edge for edge in thresholds(claims, reference, metric) if edge[0] in labels
    ]
    for label, x, mark in edges:
        ax.plot(x, labels.index(label), marker=mark, color="black", ms=7, zorder=5)
    ax.axvline(0, color="black", lw=0.8, zorder=0)
    table = runs.pivot(index="seed", columns="label", values=metric)
    rows = {
        label: (table[label] - table[reference]).dropna().to_numpy() for label in labels
    }
    dot_rows(ax, rows | {reference: np.zeros(1)})
    marks = {"ours: seeds, mean, 95 % interval": ("o", OURS)}
    marks |= {"the paper": ("D", PAPER)} if reference in paper else {}
    marks |= {"edge of a claim": (CARETRIGHT, "black")} if edges else {}
    mark_legend(figure, marks)
    return figure


def thresholds(
    claims: Sequence, reference: str, metric: str
) -> list[tuple[str, float, int]]:
    """(label, difference from `reference`, arrow) at each edge of a claim's rule, zero left out."""
    found = []
    for claim in [claim for claim in claims if claim.metric == metric]:
        inside = zip(
            claim.rule.inside, (1, -1), strict=True
        )  # an edge, and where its inside lies
        edges = [(x, way) for x, way in inside if x and np.isfinite(x)]
        sides = [(a, 1) for a, b in claim.rule.pairs if b == reference]
        sides += [(b, -1) for a, b in claim.rule.pairs if a == reference]
        arrows = {1: CARETRIGHT, -1: CARETLEFT}
        found += [
            (label, s * x, arrows[s * way]) for label, s in sides for x, way in edges
        ]
    return found


def curves(
    history: pd.DataFrame,
    y: str,
    ylabel: str,
    x: str = "step",
    xlabel: str = "training step",
) -> Figure:
    """Curves of training by label: every seed thin, the mean of the seeds at each step thick.

    A hollow mark is the first step, a filled one the last. `history` has step, seed, label, x, y.
    """
    figure, ax = panel(3.8)
    for label, line in styles(history["label"].drop_duplicates().tolist()).items():
        mark = line.pop("marker")
        runs = history[history["label"] == label].assign(
            x=lambda t: t[x], y=lambda t: t[y]
        )
        for _, run in runs.groupby("seed"):
            ax.plot(run["x"], run["y"], lw=0.7, alpha=0.35, **line)
        mean = runs.groupby("step")[["x", "y"]].mean()
        ax.plot(mean["x"], mean["y"], lw=2, label=label, **line)
        for step, fill in ((0, "white"), (-1, line["color"])):
            ax.plot(*mean.iloc[step], mark, ms=6, mfc=fill, color=line["color"])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend(**BESIDE)
    return figure


def queue_ages(snapshots: list, title: str) -> Figure:
    """The queue over time: a column a step, newest entry at the top, colour its age in steps.

    `snapshots`: one array of ages (n,) a step; -1, the random initial fill, is grey.
    """
    figure, ax = panel(3.4)
    image = (
        pd.DataFrame([pd.Series(ages, dtype=float) for ages in snapshots]).to_numpy().T
    )
    shared = {"aspect": "auto", "interpolation": "nearest"}
    shown = ax.imshow(np.where(image < 0, np.nan, image), cmap="viridis_r", **shared)
    ax.imshow(
        np.where(image == -1, 1.0, np.nan), cmap="Greys", vmin=0, vmax=2, **shared
    )
    ax.set(
        xlabel="training step", ylabel="place in the queue\n(0 = newest)", title=title
    )
    ax.grid(visible=False)
    figure.colorbar(shown, label="age (steps); grey: random fill")
    return figure


def lines(x: dict[str, list], y: dict[str, list], xlabel: str, ylabel: str) -> Figure:
    """Curves by name, each over an x of its own."""
    figure, ax = panel(3.2)
    for name, line in styles(list(y)).items():
        ax.plot(x[name], y[name], lw=2, label=name, **{**line, "marker": ""})
    ax.set(xlabel=xlabel, ylabel=ylabel)
    figure.legend(loc="outside upper left", ncols=3)
    return figure


def align_uniform(runs: pd.DataFrame, labels: list[str]) -> Figure:
    """Every run at its (uniformity, alignment) on the dev split; lower left is better."""
    figure, ax = panel(max(4.2, 0.26 * len(labels)))
    for label, line in styles(
        [name for name in labels if (runs["label"] == name).any()]
    ).items():
        of_label = runs[runs["label"] == label]
        place = of_label["uniformity dev"], of_label["alignment dev"]
        ax.plot(*place, ms=7, alpha=0.8, label=label, **{**line, "ls": "none"})
    ax.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
    ax.legend(**BESIDE)
    return figure


def spectra(values: dict[str, np.ndarray]) -> Figure:
    """Singular values over the largest, by label; every seed of a label a line."""
    figure, ax = panel(3.6)
    for label, line in styles(list(values)).items():
        runs = np.transpose(values[label])
        names = [label] + [None] * (runs.shape[1] - 1)
        ax.plot(
            np.arange(1, len(runs) + 1), runs, label=names, **{**line, "marker": ""}
        )
    ax.set(
        xlabel="index of the singular value",
        ylabel="singular value / largest",
        yscale="log",
    )
    ax.set_ylim(1e-3, 1.2)
    ax.legend(**BESIDE)
    return figure


def matrix(values: pd.DataFrame, paper: pd.DataFrame, title: str) -> Figure:
    """Two tables of means side by side, ours and the paper's.

    The colour is the difference from the table's median; the widest fifth has the last colours.
    What we have no runs of is grey.
    """
    tables = {title: values.reindex_like(paper), "the paper": paper}
    centred = [table - np.nanmedian(table.to_numpy(float)) for table in tables.values()]
    limit = max(1, np.nanquantile(np.abs(np.stack(centred)), 0.8))
    figure, axes = panel(0.5 * len(paper) + 1.6, 2, width=8.4)
    shared = {
        "annot_kws": {"size": 9},
        "fmt": ".1f",
        "linewidths": 0.5,
        "cmap": "vlag_r",
    }
    bar = {"label": "points from the median; grey: not run", "extend": "both"}
    shared |= {"vmin": -limit, "vmax": limit, "cbar_kws": bar}
    for ax, name, colors in zip(axes, tables, centred, strict=True):
        sns.heatmap(colors, annot=tables[name], ax=ax, cbar=ax is axes[1], **shared)
        ax.set(
            title=name,
            ylabel=paper.index.name if ax is axes[0] else "",
            facecolor="0.85",
        )
        ax.grid(visible=False)
    return figure


def over_distance(runs: pd.DataFrame, y: str, ylabel: str, best: float) -> Figure:
    """Every run over its traceable distance, the column `distance`: colour by decay, mark by queue
    and batch. A line marks where the paper finds its `best`."""
    figure, ax = panel(4.4)
    parts = ["ema_decay", "queue_size", "batch_size"]
    decay, queue, batch = (runs[name].map("{:g}".format) for name in parts)
    shown = runs.assign(**{"decay η": decay, "K, B": queue + ", " + batch})
    shapes = {"hue": "decay η", "style": "K, B", "palette": "viridis", "alpha": 0.8}
    sns.scatterplot(shown.sort_values(parts), x="distance", y=y, s=45, ax=ax, **shapes)
    ax.axvline(
        best,
        color=PAPER,
        lw=1.2,
        ls="--",
        zorder=0,
        label=f"the paper's best, {best:.4g}",
    )
    ax.set(xlabel="maximum traceable distance (steps)", ylabel=ylabel)
    log_axis(ax)
    ax.legend(**BESIDE)
    return figure


def pretraining(gains: pd.DataFrame) -> Figure:
    """Gain over the best untrained pooling (`show.pretraining_gains`), from lowest to highest seed."""
    style(layout=False)
    colors = {
        name: line["color"] for name, line in styles(gains["system"].unique()).items()
    }
    shown = {
        "hue": "system",
        "style": "system",
        "palette": colors,
        "errorbar": ("pi", 100),
    }
    facets = {"col": "encoder", "height": 3.4, "aspect": 1.1}
    grid = sns.relplot(
        gains, x="tokens", y="gain", kind="line", markers=True, **shown, **facets
    )
    grid.refline(y=0, color="black", ls="-").set_titles("{col_name}")
    grid.set_axis_labels(
        "million tokens of pre-training", "gain over the best pooling (points)"
    )
    seen = sorted(gains["tokens"].unique())
    grid.set(
        xscale="log", xticks=seen, xticklabels=[f"{tokens:.0f}" for tokens in seen]
    )
    grid.tick_params(which="minor", bottom=False, labelbottom=False)
    return grid.figure
