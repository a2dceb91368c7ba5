"""One style for every figure; a figure is made from runs alone, and its table lies beside it."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mocose_study.data.files import study_folder
from mocose_study.claims.stats import interval

OURS, PAPER = "#0072B2", "#D55E00"  # Okabe and Ito: told apart by every kind of colour vision


def style() -> None:
    sns.set_theme(context="paper", style="whitegrid", font_scale=1.15, rc={
        "figure.dpi": 120, "svg.fonttype": "none", "axes.titlelocation": "left",
        "figure.constrained_layout.use": True, "svg.hashsalt": "mocose", "font.family": "DejaVu Sans",
    })  # fmt: skip


def save(figure: Figure, table: pd.DataFrame, profile: str, stem: str) -> Path:
    """figures/<profile>/<stem>.svg and .csv, the same bytes from the same runs."""
    folder = study_folder() / "figures" / profile
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{stem}.svg", metadata={"Date": None})
    table.to_csv(folder / f"{stem}.csv", index=False, float_format="%.4f")
    return folder / f"{stem}.svg"


def seeds_and_interval(ax: Axes, runs: pd.DataFrame, labels: list[str], metric: str) -> None:
    """Every seed as a point, the mean with its 95 % interval; `runs` has a column label."""
    groups = [runs.loc[runs["label"] == label, metric].to_numpy() for label in labels]
    for x, values in enumerate(groups):
        spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else [0]
        ax.plot(x + np.asarray(spread), values, "o", ms=3.5, alpha=0.45, color=OURS, mew=0)
    found = [interval(values) for values in groups]
    means = np.array([i.mean for i in found])
    bars = np.array([[i.mean - i.low, i.high - i.mean] for i in found]).T
    ax.errorbar(range(len(labels)), means, yerr=np.nan_to_num(bars), fmt="_", ms=13, capsize=4,
                color=OURS, label="this study: mean, 95 % interval, seeds")  # fmt: skip
    ax.set_xticks(range(len(labels)), labels)
    ax.margins(x=0.06)


def beside_paper(
    runs: pd.DataFrame, labels: list[str], paper: dict[str, float], metric: str, xlabel: str,
    ylabel: str = "Spearman × 100\n(mean of seven tasks)",
) -> Figure:  # fmt: skip
    """Our scores above, the paper's below, on one x axis and with the same points per cm.

    Only differences within a panel can be compared: encoder and data differ between them.
    """
    style()
    heights = (2.0, 1.2)
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(7.2, 5.6), sharex=True, height_ratios=heights)  # fmt: skip
    seeds_and_interval(top, runs, labels, metric)
    shown = {x: paper[label] for x, label in enumerate(labels) if label in paper}
    bottom.plot(list(shown), list(shown.values()), "D", color=PAPER, ms=6,
                label="the paper (BERT-base, one run)")  # fmt: skip
    for ax in (top, bottom):
        ax.set_ylabel(ylabel)
        ax.legend(loc="best", frameon=True)
    share_scale((top, bottom), heights)
    bottom.set_xlabel(xlabel)
    if len(labels) > 8 or sum(map(len, labels)) > 60:
        bottom.set_xticks(range(len(labels)), labels, rotation=25, ha="right")
    return figure


def share_scale(axes: tuple[Axes, ...], heights: tuple[float, ...]) -> None:
    """Widens the y ranges so that a point is as long in every panel."""
    ranges = [ax.get_ylim() for ax in axes]
    unit = max((high - low) / h for (low, high), h in zip(ranges, heights, strict=True))
    for ax, (low, high), h in zip(axes, ranges, heights, strict=True):
        middle = (low + high) / 2
        ax.set_ylim(middle - unit * h / 2, middle + unit * h / 2)


def curves(history: pd.DataFrame, y: str, ylabel: str) -> Figure:
    """Training curves by label: every seed thin, the mean thick; `history` has step, label."""
    style()
    figure, ax = plt.subplots(figsize=(7.2, 3.6))
    palette = sns.color_palette("viridis", history["label"].nunique())
    shared = {"data": history, "x": "step", "y": y, "hue": "label", "palette": palette, "ax": ax}
    sns.lineplot(**shared, units="seed", estimator=None, lw=0.8, alpha=0.4, legend=False)
    sns.lineplot(**shared, errorbar=None, lw=2)
    ax.set(xlabel="training step", ylabel=ylabel)
    ax.legend(title="", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure


def queue_ages(snapshots: list, title: str) -> Figure:
    """The queue over time: a column a step, newest entry at the top, colour its age in steps.

    `snapshots`: one array of ages (n,) a step; -1, the random initial fill, is grey.
    """
    style()
    height = max(map(len, snapshots))
    image = np.full((height, len(snapshots)), np.nan)
    for step, ages in enumerate(snapshots):
        image[: len(ages), step] = ages
    figure, ax = plt.subplots(figsize=(7.2, 3.4))
    shown = ax.imshow(np.where(image < 0, np.nan, image), aspect="auto", cmap="viridis_r",
                      interpolation="nearest")  # fmt: skip
    ax.imshow(np.where(image == -1, 1.0, np.nan), aspect="auto", cmap="Greys", vmin=0, vmax=2,
              interpolation="nearest")  # fmt: skip
    ax.set(xlabel="training step", ylabel="place in the queue\n(0 = newest)", title=title)
    ax.grid(visible=False)
    figure.colorbar(shown, label="age (steps); grey: random fill")
    return figure


def lines(x, values: dict[str, list[float]], xlabel: str, ylabel: str) -> Figure:
    """Plain curves by name over `x`."""
    style()
    figure, ax = plt.subplots(figsize=(7.2, 3.0))
    looks = (("-", OURS), ("--", PAPER), (":", "#009E73"))
    for (name, y), (dash, color) in zip(values.items(), looks, strict=False):
        ax.plot(x, y, dash, color=color, lw=2, label=name)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend(frameon=True)
    return figure


def many_lines(x: dict[str, list], y: dict[str, list], xlabel: str, ylabel: str) -> Figure:
    """Curves by name, each over an x of its own."""
    style()
    figure, ax = plt.subplots(figsize=(7.2, 3.0))
    for (name, values), color in zip(y.items(), sns.color_palette("colorblind"), strict=False):
        ax.plot(x[name], values, color=color, lw=2, label=name)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend(frameon=True)
    return figure


def scores(runs: pd.DataFrame, labels: list[str], metric: str, xlabel: str,
           ylabel: str = "Spearman × 100\n(mean of seven tasks)") -> Figure:  # fmt: skip
    """Seeds, mean and interval of every label, one panel."""
    style()
    figure, ax = plt.subplots(figsize=(7.2, 3.6))
    seeds_and_interval(ax, runs, labels, metric)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)  # covers no seed
    return figure


def align_uniform(runs: pd.DataFrame, labels: list[str], split: str) -> Figure:
    """Every run at its (uniformity, alignment); lower left is better."""
    style()
    figure, ax = plt.subplots(figsize=(7.2, max(4.2, 0.26 * len(labels))))
    shown = runs[runs["label"].isin(labels)]
    order = [label for label in labels if (shown["label"] == label).any()]
    sns.scatterplot(shown, x=f"uniformity {split}", y=f"alignment {split}", hue="label",
                    hue_order=order, style="label", style_order=order, s=70, alpha=0.8,
                    palette="colorblind", ax=ax)  # fmt: skip
    ax.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
    ax.legend(title="", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure


def spectra(values: dict[str, np.ndarray]) -> Figure:
    """Singular values over the largest, by label; every seed of a label a line."""
    style()
    figure, ax = plt.subplots(figsize=(7.2, 3.6))
    palette = sns.color_palette("colorblind", len(values))
    for (label, runs), color in zip(values.items(), palette, strict=True):
        for i, run in enumerate(runs):
            ax.plot(np.arange(1, len(run) + 1), run, color=color, lw=1.4, alpha=0.7,
                    label=label if i == 0 else None)  # fmt: skip
    ax.set(xlabel="index of the singular value", ylabel="singular value / largest", yscale="log",
           ylim=(1e-3, 1.2))  # fmt: skip
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure


def matrix(values: pd.DataFrame, paper: pd.DataFrame, title: str) -> Figure:
    """Two tables of means side by side, ours and the paper's, each over its own range of colour.

    What we have no runs of stays white.
    """
    style()
    values = values.reindex(index=paper.index, columns=paper.columns)
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 0.5 * len(paper) + 1.6))
    for ax, table, name in zip(axes, (values, paper), (title, "the paper"), strict=True):
        sns.heatmap(table, annot=True, fmt=".1f", cmap="cividis", linewidths=0.5, ax=ax,
                    cbar_kws={"label": "Spearman × 100"})  # fmt: skip
        ax.set(title=name, ylabel=values.index.name if ax is axes[0] else "")
    return figure


COLORS = {"supported": "#009E73", "not supported": "#D55E00", "inconclusive": "#7F7F7F"}


def effects(table: pd.DataFrame, xlabel: str, limit: float | None = None,
            seeds: pd.DataFrame | None = None) -> Figure:  # fmt: skip
    """Effects with intervals, a row each: columns point, difference, low, high; where they are
    there, verdict gives the colour, and paper the paper's own effect. Symmetric log beyond `limit`.
    `seeds`: point and difference of every seed, below the row's line.
    """
    style()
    height = 0.26 if seeds is None else 0.36
    figure, ax = plt.subplots(figsize=(7.2, height * len(table) + 1.3))
    rows = np.arange(len(table))[::-1]
    colors = [COLORS.get(v, OURS) for v in table.get("verdict", [""] * len(table))]
    ax.axvline(0, color="black", lw=0.8)
    ax.hlines(rows, table["low"], table["high"], colors=colors, lw=2)
    ax.scatter(table["difference"], rows, c=colors, s=26, zorder=3)
    if seeds is not None:
        row_of = dict(zip(table["point"], rows, strict=True))
        ax.scatter(seeds["difference"], seeds["point"].map(row_of) - 0.3, s=12, color=OURS,
                   alpha=0.45, lw=0)  # fmt: skip
    if "paper" in table:
        ax.scatter(table["paper"], rows, marker="D", s=22, facecolors="none", edgecolors="black",
                   clip_on=False)  # fmt: skip
    ax.set_yticks(rows, table["point"])
    ax.set(xlabel=xlabel, ylim=(-0.8, len(table) - 0.2))
    if limit:
        ax.set_xscale("symlog", linthresh=limit)
        ax.xaxis.set_major_formatter("{x:g}")
    return figure


def verdict_legend(figure: Figure) -> None:
    """What the colours and the hollow mark of `effects` say."""
    marks = [plt.Line2D([], [], color=c, marker="o", lw=2, label=v) for v, c in COLORS.items()]
    hollow = plt.Line2D([], [], color="black", marker="D", mfc="none", lw=0, label="the paper")
    figure.legend(handles=[*marks, hollow], loc="outside upper center", ncols=4, frameon=False)


def against(runs: pd.DataFrame, x: str, y: str, xlabel: str, ylabel: str) -> Figure:
    """Every run over a number on a log axis; the mean of each value of x as a line."""
    style()
    figure, ax = plt.subplots(figsize=(7.2, 3.8))
    shapes = {"hue": "batch_size", "style": "queue_size", "palette": "colorblind"}
    sns.scatterplot(runs, x=x, y=y, s=45, alpha=0.8, ax=ax, **shapes)
    means = runs.groupby(x)[y].mean()
    ax.plot(means.index, means, color="black", lw=1, zorder=1, label="mean")
    ax.set(xlabel=xlabel, ylabel=ylabel, xscale="log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure
