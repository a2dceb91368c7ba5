"""Figures from runs alone; the table of a figure lies beside it under the same name.

Rows are settings and the horizontal axis is a score or a difference, so that long
names fit. What is `saved` is a method of `opened.Opened`.
"""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from mocose_study.sections.batch import BEST

from . import style, tables
from .saved import saved
from .tables import METRIC

POINTS = "Spearman × 100 (mean of the test tasks)"
DEV = "dev split, Spearman × 100"
BESIDE = {"title": "", "loc": "upper left", "bbox_to_anchor": (1, 1)}  # a legend


@saved
def differences(
    opened, runs: pd.DataFrame, reference: str = "", metric: str = METRIC, rows=""
):
    """Differences from a point (default: the paper's best), ours and the paper's.

    rows: what the labels are.
    """
    table = tables.beside_paper(opened.section, runs, metric)
    asked = opened.rows_of_a_figure(list(table.index), reference, metric)
    figure = beside_paper(runs, *asked, metric)
    figure.axes[0].set_ylabel(rows)
    return figure, table, None


def beside_paper(
    runs: pd.DataFrame,
    labels: list[str],
    paper: dict[str, float],
    reference: str,
    metric: str = METRIC,
    own: dict[str, float] | None = None,
) -> Figure:
    """One row per point: its difference from `reference`, ours and the paper's.

    Encoder and steps are not the paper's, so only differences can be compared. `own`:
    differences of one's own points, each from the same reference at its own size.
    """
    own = own or {}
    level = f"{runs.loc[runs['label'] == reference, metric].mean():.1f} here"
    level += f", {paper[reference]:.1f} in the paper" if reference in paper else ""
    names = [*labels, *own]
    figure, ax = style.panel(0.34 * len(names) + 1.5)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel=f"points above or below “{reference}”\n({level})")
    ax.set(ylim=(len(names) - 0.4, -0.6))  # the first at the top
    marks = {"ours: seeds, mean, 95 % interval": ("o", style.OURS)}
    if reference in paper:
        marks["the paper"] = ("D", style.PAPER)
        rows = [i for i, label in enumerate(labels) if label in paper]
        gaps = [paper[labels[i]] - paper[reference] for i in rows]
        ax.plot(gaps, rows, "D", color=style.PAPER, ms=6, mfc="none", zorder=4)
    ax.axvline(0, color="black", lw=0.8, zorder=0)
    style.dot_rows(ax, tables.differences(runs, labels, reference, metric))
    if own:
        marks["yours"] = ("*", "black")
        rows = range(len(labels), len(names))
        ax.plot(list(own.values()), rows, "*", color="black", ms=11, mfc="none")
    handles = []
    for name, (mark, color) in marks.items():  # all but dots are hollow
        look = {"color": color, "mfc": color if mark == "o" else "none"}
        handles.append(plt.Line2D([], [], lw=0, marker=mark, label=name, **look))
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
    return figure


@saved
def curves_of(opened, _, y="score", ylabel=DEV, part="history", **axes):
    """The training's curves; `part` "trajectory" has those of the geometry."""
    rows = [
        {"label": label, "seed": config.seed, **row}
        | {"sentences": row["step"] * config.batch_size}
        for label, config, record in tables.records(*opened.asked)
        for row in record["progress"].get(part, ())
    ]
    table = pd.DataFrame(rows)
    if y not in table:  # nothing of it was trained
        return None
    return curves(table, y, ylabel, **axes), table, f"{y}_curves"


def curves(
    history: pd.DataFrame, y="score", ylabel=DEV, x="step", xlabel="training step"
) -> Figure:
    """Curves of training by label: every seed thin, the mean at each step thick.

    A hollow mark is the first step, a filled one the last.
    """
    figure, ax = style.panel(max(3.8, 0.26 * history["label"].nunique()))
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


@saved
def align_uniform(opened, runs: pd.DataFrame):
    """Every run at its (uniformity, alignment) on the dev split."""
    table = runs.groupby("label", sort=False)[list(tables.SHAPE)].mean()
    figure, ax = style.panel(max(4.2, 0.26 * len(table)))
    for label, line in style.styles(list(table.index)).items():
        own = runs[runs["label"] == label]
        look = {**line, "ls": "none", "label": label}
        ax.plot(own["uniformity dev"], own["alignment dev"], ms=7, alpha=0.8, **look)
    ax.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
    ax.legend(**BESIDE)
    return figure, table, "align_uniform"


@saved
def spectra(opened, _):
    """Singular values of the dev vectors, over the largest; one line per seed."""
    values: dict[str, list] = {}
    for label, _, record in tables.records(*opened.asked):
        values.setdefault(label, []).append(record["spectrum"])
    figure, ax = style.panel(max(3.6, 0.26 * len(values)))
    for label, line in style.styles(list(values)).items():
        for i, spectrum in enumerate(values[label]):
            look = {**line, "marker": "", "label": label if i == 0 else None}
            ax.plot(np.arange(1, len(spectrum) + 1), spectrum, **look)
    ax.set(xlabel="index of the singular value", ylabel="singular value / largest")
    ax.set(yscale="log", ylim=(1e-3, 1.2))
    ax.legend(**BESIDE)
    means = {label: pd.DataFrame(own).mean() for label, own in values.items()}
    return figure, pd.DataFrame(means), "spectra"


@saved
def matrix(opened, runs: pd.DataFrame, metric: str = METRIC, rows="", columns=""):
    """Our table of means beside the paper's, from points labelled "row, column".

    The colour is the difference from the table's median. What has no runs is grey.
    """
    means = tables.summary(runs, metric).set_index("label")["mean"]
    ours = tables.unstacked(means, opened.section)
    ours = ours.rename_axis(index=rows, columns=columns)
    panels = {f"ours, profile {opened.profile}": ours}
    if paper := tables.paper_of(opened.section, metric):
        panels["the paper"] = tables.unstacked(paper, opened.section)
    centred = [table - np.nanmedian(table.to_numpy(float)) for table in panels.values()]
    limit = max(1, np.nanquantile(np.abs(np.stack(centred)), 0.8))
    figure, axes = style.panel(0.45 * len(ours) + 1.6, len(panels), width=8.4)
    axes = np.atleast_1d(axes)
    look = {"annot_kws": {"size": 9}, "fmt": ".1f", "linewidths": 0.5, "cmap": "vlag_r"}
    look["cbar_kws"] = {"label": "points from the median", "extend": "both"}
    look |= {"vmin": -limit, "vmax": limit}
    for ax, name, colors in zip(axes, panels, centred, strict=True):
        sns.heatmap(colors, annot=panels[name], ax=ax, cbar=ax is axes[-1], **look)
        ax.set(title=name, facecolor="0.85")
        ax.set(xlabel=columns, ylabel=rows if ax is axes[0] else "")
        ax.grid(visible=False)
    return figure, ours, "matrix" if metric == METRIC else f"{metric}_matrix"


@saved
def over_distance(opened, runs: pd.DataFrame, y: str = METRIC, ylabel: str = POINTS):
    """Every run over its traceable distance (MoCoSE eq. 4).

    Colour by decay, mark by queue and batch. A line is where the paper has its best.
    Other batches than its own stand a little to the right, to be told apart.
    """
    figure, ax = style.panel(4.4)
    parts = ["ema_decay", "queue_size", "batch_size"]
    decay, queue, batch = (runs[name].map("{:g}".format) for name in parts)
    table = runs.assign(**{"decay η": decay, "K, B": queue + ", " + batch})
    table["distance"] *= 1 + 0.06 * (table["batch_size"] != BEST.batch_size)
    look = {"hue": "decay η", "style": "K, B", "palette": "viridis", "alpha": 0.8}
    sns.scatterplot(table.sort_values(parts), x="distance", y=y, s=45, ax=ax, **look)
    best = BEST.traceable_distance
    label = f"the paper's best, {best:.4g}"
    ax.axvline(best, color=style.PAPER, lw=1.2, ls="--", zorder=0, label=label)
    ax.set(xlabel="maximum traceable distance (steps)", ylabel=ylabel)
    ax.set_xscale("log")
    ax.xaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), minor_locator=NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")
    ax.legend(**BESIDE)
    table = runs[["label", "seed", "distance", y]].set_index("label")
    return figure, table, y.replace(" ", "_")
