"""Figures of the sections that compare systems, in the style of `plots`."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mocose_study.claims.best_seeds import BEST, top_mean
from mocose_study.results.plots import OURS, PAPER, seeds_and_interval, share_scale, style
from mocose_study.claims.stats import interval

POINTS = "Spearman × 100"


def systems(
    runs: pd.DataFrame, labels: list[str], paper: dict[str, float], metric: str = "sts_avg"
) -> Figure:
    """A row a system: ours on the left (seeds, mean, interval), the papers' on the right.

    A point is as long in both panels; only differences within a panel can be compared.
    """
    style()
    shown = {y: paper[label] for y, label in enumerate(labels) if label in paper}
    spans = [np.ptp(list(values)) + 4 for values in (runs[metric], shown.values()) if len(values)]
    figure, axes = plt.subplots(
        1, len(spans), figsize=(8.4, 0.27 * len(labels) + 1.4), sharey=True, width_ratios=spans,
        squeeze=False,
    )  # fmt: skip
    for y, label in enumerate(labels):
        values = runs.loc[runs["label"] == label, metric].to_numpy()
        found = interval(values)
        ends = np.nan_to_num([[found.mean - found.low], [found.high - found.mean]])
        axes[0, 0].plot(values, [y] * len(values), "o", ms=3.5, alpha=0.45, color=OURS, mew=0)
        axes[0, 0].errorbar(found.mean, y, xerr=ends, fmt="|", ms=11, capsize=3, color=OURS)
    axes[0, 0].set(xlabel=POINTS, title="this study")
    axes[0, 0].set_yticks(range(len(labels)), labels)
    axes[0, 0].set_ylim(len(labels) - 0.4, -0.6)
    if len(spans) == 2:
        axes[0, 1].plot(list(shown.values()), list(shown), "D", color=PAPER, ms=5)
        axes[0, 1].set(xlabel=POINTS, title="the papers")
    return figure


def trajectory(curves: pd.DataFrame, labels: list[str]) -> Figure:
    """Alignment over uniformity while training: seeds thin, their mean thick.

    Every point is a step; a hollow one is the first, a large one the last. Lower left is better.
    """
    style()
    figure, ax = plt.subplots(figsize=(7.2, 4.4))
    palette = sns.color_palette("colorblind", len(labels))
    for label, color in zip(labels, palette, strict=True):
        runs = curves[curves["label"] == label]
        for _, run in runs.groupby("seed"):
            ax.plot(run["uniformity"], run["alignment"], color=color, lw=0.7, alpha=0.4)
        mean = runs.groupby("step")[["uniformity", "alignment"]].mean()
        ax.plot(mean["uniformity"], mean["alignment"], "o-", color=color, ms=3, lw=2, label=label)
        ax.plot(*mean.iloc[0], "o", ms=8, mfc="none", color=color)
        ax.plot(*mean.iloc[-1], "o", ms=8, color=color)
    ax.set(xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure


def benchmarks(table: pd.DataFrame) -> Figure:
    """A row a system, best on the real tasks first: its mean on the real and the generated ones."""
    style()
    figure, ax = plt.subplots(figsize=(7.2, 0.27 * len(table) + 1.2))
    for column, marker, color in (("real", "o", OURS), ("generated", "D", PAPER)):
        ax.plot(table[column], range(len(table)), marker, color=color, ms=6, label=column,
                mfc=color if column == "real" else "none")  # fmt: skip
    ax.hlines(range(len(table)), table.min(axis=1), table.max(axis=1), color="0.8", lw=1, zorder=0)
    ax.set_yticks(range(len(table)), table.index)
    ax.set(xlabel=POINTS, ylim=(len(table) - 0.4, -0.6))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure


def best_seeds(
    runs: pd.DataFrame, labels: list[str], top: dict[str, float], maximum: dict[str, float],
    metric: str = "sts_avg",
) -> Figure:  # fmt: skip
    """Ours: seeds, mean with interval, mean of the best, maximum; the paper's best and maximum."""
    style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 4.0))
    seeds_and_interval(left, runs, labels, metric)
    by_label = [runs.loc[runs["label"] == label, metric].to_numpy() for label in labels]
    _marks(left, [top_mean(x) for x in by_label], [x.max() for x in by_label], OURS)
    _marks(right, [top.get(x, np.nan) for x in labels], [maximum.get(x, np.nan) for x in labels],
           PAPER)  # fmt: skip
    for ax, title in ((left, "this study"), (right, "the paper (BERT-base)")):
        ax.set(title=title, ylabel=POINTS, xlim=(-0.6, len(labels) - 0.4))
        ax.set_xticks(range(len(labels)), [label.replace(", ", ",\n") for label in labels])
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False)
    share_scale((left, right), (1.0, 1.0))
    return figure


def _marks(ax: Axes, best: list[float], maximum: list[float], color: str) -> None:
    x = np.arange(len(best)) + 0.25
    ax.plot(x, best, "^", color=color, ms=7, label=f"mean of the top {BEST}")
    ax.plot(x, maximum, "*", color=color, ms=9, mfc="none", label="maximum")
