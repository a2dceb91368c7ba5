"""Figures from runs alone; the table of a figure lies beside it under the same name.

Rows are settings and the horizontal axis is a score or a difference, so that long
names fit.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from mocose_study.data.files import study_folder

from . import style
from .tables import METRIC, differences

POINTS = "Spearman × 100 (mean of the test tasks)"
BESIDE = {"title": "", "loc": "upper left", "bbox_to_anchor": (1, 1)}  # a legend


def save(figure: Figure, table: pd.DataFrame, profile: str, stem: str) -> Path:
    """figures/<profile>/<stem>.svg and .csv, the same bytes from the same runs."""
    folder = study_folder() / "figures" / profile
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / f"{stem}.csv", float_format="%.4f")
    figure.savefig(path := folder / f"{stem}.svg", metadata={"Date": None})
    return path


def scores(runs: pd.DataFrame, labels: list[str], metric: str) -> Figure:
    """A row a point: its seeds, their mean and its 95 % interval."""
    figure, ax = style.rows_figure(labels, POINTS)
    values = {x: runs.loc[runs["label"] == x, metric].to_numpy(float) for x in labels}
    style.dot_rows(ax, values)
    return figure


def beside_paper(
    runs: pd.DataFrame,
    labels: list[str],
    paper: dict[str, float],
    reference: str,
    metric: str = METRIC,
    own: dict[str, float] | None = None,
) -> Figure:
    """A row a point: its difference from `reference`, ours and the paper's on one axis.

    Encoder and steps are not the paper's, so only differences can be compared. `own`:
    differences of one's own points, each from the same reference at its own size.
    """
    own = own or {}
    level = f"{runs.loc[runs['label'] == reference, metric].mean():.1f} here"
    level += f", {paper[reference]:.1f} in the paper" if reference in paper else ""
    names = [*labels, *own]
    axis = f"points above or below “{reference}”\n({level})"
    figure, ax = style.rows_figure(names, axis)
    marks = {"ours: seeds, mean, 95 % interval": ("o", style.OURS)}
    if reference in paper:
        marks["the paper"] = ("D", style.PAPER)
        rows = [i for i, label in enumerate(labels) if label in paper]
        gaps = [paper[labels[i]] - paper[reference] for i in rows]
        ax.plot(gaps, rows, "D", color=style.PAPER, ms=6, mfc="none", zorder=4)
    ax.axvline(0, color="black", lw=0.8, zorder=0)
    style.dot_rows(ax, differences(runs, labels, reference, metric))
    if own:
        marks["yours"] = ("*", "black")
        rows = range(len(labels), len(names))
        ax.plot(list(own.values()), rows, "*", color="black", ms=11, mfc="none")
    style.mark_legend(figure, marks)
    return figure


def curves(
    history: pd.DataFrame, y: str, ylabel: str, x="step", xlabel="training step"
) -> Figure:
    """Curves of training by label: every seed thin, the mean at each step thick.

    A hollow mark is the first step, a filled one the last.
    """
    figure, ax = style.panel(3.8)
    for label, line in style.styles(list(history["label"].drop_duplicates())).items():
        mark = line.pop("marker")
        runs = history[history["label"] == label]
        for _, run in runs.groupby("seed"):
            ax.plot(run[x], run[y], lw=0.7, alpha=0.35, **line)
        mean = runs.groupby(runs["step"].rename("at"))[list({x, y})].mean()
        ax.plot(mean[x], mean[y], lw=2, label=label, **line)
        for step, fill in ((0, "white"), (-1, line["color"])):
            place = mean[x].iloc[step], mean[y].iloc[step]
            ax.plot(*place, mark, ms=6, mfc=fill, color=line["color"])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend(**BESIDE)
    return figure


def align_uniform(runs: pd.DataFrame, labels: list[str]) -> Figure:
    """Every run at its (uniformity, alignment) on the dev split."""
    figure, ax = style.panel(max(4.2, 0.26 * len(labels)))
    for label, line in style.styles(labels).items():
        own = runs[runs["label"] == label]
        look = {**line, "ls": "none", "label": label}
        ax.plot(own["uniformity dev"], own["alignment dev"], ms=7, alpha=0.8, **look)
    ax.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
    ax.legend(**BESIDE)
    return figure


def spectra(values: dict[str, list]) -> Figure:
    """Singular values over the largest, by label; every seed a line."""
    figure, ax = style.panel(3.6)
    for label, line in style.styles(list(values)).items():
        for i, spectrum in enumerate(values[label]):
            look = {**line, "marker": "", "label": label if i == 0 else None}
            ax.plot(np.arange(1, len(spectrum) + 1), spectrum, **look)
    ax.set(xlabel="index of the singular value", ylabel="singular value / largest")
    ax.set(yscale="log", ylim=(1e-3, 1.2))
    ax.legend(**BESIDE)
    return figure


def matrix(ours: pd.DataFrame, paper: pd.DataFrame | None, title: str) -> Figure:
    """Tables of means side by side: rows and columns are the two numbers of a label.

    The colour is the difference from the table's median. What has no runs is grey.
    """
    tables = {title: ours}
    if paper is not None:
        tables |= {"the paper": paper.reindex_like(ours)}
    centred = [table - np.nanmedian(table.to_numpy(float)) for table in tables.values()]
    limit = max(1, np.nanquantile(np.abs(np.stack(centred)), 0.8))
    figure, axes = style.panel(0.45 * len(ours) + 1.6, len(tables), width=8.4)
    axes = np.atleast_1d(axes)
    look = {"annot_kws": {"size": 9}, "fmt": ".1f", "linewidths": 0.5, "cmap": "vlag_r"}
    look["cbar_kws"] = {"label": "points from the median", "extend": "both"}
    for ax, name, colors in zip(axes, tables, centred, strict=True):
        bar = ax is axes[-1]
        limits = {"vmin": -limit, "vmax": limit, "cbar": bar}
        sns.heatmap(colors, annot=tables[name], ax=ax, **limits, **look)
        ax.set(title=name, facecolor="0.85")
        ax.set_ylabel(ours.index.name if ax is axes[0] else "")
        ax.grid(visible=False)
    return figure


def over_distance(runs: pd.DataFrame, y: str, ylabel: str, best: float) -> Figure:
    """Every run over its traceable distance: colour by decay, mark by queue and batch.

    A line marks where the paper finds its `best`.
    """
    figure, ax = style.panel(4.4)
    parts = ["ema_decay", "queue_size", "batch_size"]
    decay, queue, batch = (runs[name].map("{:g}".format) for name in parts)
    table = runs.assign(**{"decay η": decay, "K, B": queue + ", " + batch})
    look = {"hue": "decay η", "style": "K, B", "palette": "viridis", "alpha": 0.8}
    sns.scatterplot(table.sort_values(parts), x="distance", y=y, s=45, ax=ax, **look)
    label = f"the paper's best, {best:.4g}"
    ax.axvline(best, color=style.PAPER, lw=1.2, ls="--", zorder=0, label=label)
    ax.set(xlabel="maximum traceable distance (steps)", ylabel=ylabel)
    ax.set_xscale("log")
    ax.xaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), minor_locator=NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")
    ax.legend(**BESIDE)
    return figure


def counts(table: pd.DataFrame) -> Figure:
    """Verdicts counted: a row a table of the papers, a colour a verdict."""
    figure, ax = style.panel(0.22 * len(table) + 0.9)
    look = {"edgecolor": "white", "width": 0.8, "legend": False}
    look["color"] = style.VERDICTS
    table.plot.barh(stacked=True, ax=ax, **look)
    for bars in ax.containers:
        told = [f"{count:.0f}" if count else "" for count in bars.datavalues]
        ax.bar_label(bars, told, label_type="center", fontsize="x-small")
    ax.set(xlabel="claims", ylabel="", ylim=(len(table) - 0.4, -0.6))
    ax.grid(axis="y", visible=False)
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=4, fontsize="small")
    return figure
