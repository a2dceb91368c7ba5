"""Figures of the sections that compare systems, in the style of `plots`."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mocose_study.claims.best_seeds import BEST, top_mean

from .plots import beside_paper, curves
from .style import OURS, PAPER, WIDTH, dots, mark_legend, rows_figure, style, styles


def systems(
    runs: pd.DataFrame, labels: list[str], paper: dict[str, float], metric: str = "sts_avg"
) -> Figure:
    """A row a system: its difference from SimCSE, ours and the papers' on one axis."""
    reference = "SimCSE" if "SimCSE" in labels else None
    return beside_paper(runs, labels, paper, metric, "", reference)


def trajectory(history: pd.DataFrame, labels: list[str]) -> Figure:
    """Alignment over uniformity while training; lower left is better."""
    shown = history[history["label"].isin(labels)]
    alignment, uniformity = (f"{name} (lower is better)" for name in ("alignment", "uniformity"))
    return curves(shown, "alignment", alignment, "uniformity", uniformity)


def pretraining(gains: pd.DataFrame) -> Figure:
    """Gain over the best untrained pooling (`show.pretraining_gains`); every run is a dot."""
    style()
    figure, ax = plt.subplots(figsize=(WIDTH, 3.4))
    for name, line in styles(gains["system"].unique()).items():
        of_system = gains[gains["system"] == name]
        means = of_system.groupby("tokens")["gain"].mean()
        ax.plot(means.index, means, lw=2, label=name, **{**line, "marker": ""})
        ax.plot(of_system["tokens"], of_system["gain"], "o", ms=4, alpha=0.5, color=line["color"])
    ax.axhline(0, color="black", lw=0.8)
    ax.set(xlabel="million tokens of pre-training", ylabel="gain over the best pooling (points)")
    ax.set_xscale("log")
    seen = sorted(gains["tokens"].unique())
    ax.set_xticks(seen, [f"{tokens:.0f}" for tokens in seen])
    ax.minorticks_off()
    figure.legend(loc="outside upper left", ncols=4, frameon=False)
    return figure


def best_seeds(
    runs: pd.DataFrame,
    labels: list[str],
    top: dict[str, float],
    maximum: dict[str, float],
    metric: str = "sts_avg",
) -> Figure:
    """A row a system, each measure as its difference from the first system's same measure.

    Ours: all seeds with the interval of their mean, the mean of the best, the maximum. The
    paper's (`top`, `maximum`): the last two, hollow.
    """
    first, *others = labels
    figure, ax = rows_figure(others, f"points above or below “{first}”")
    table = runs.pivot(index="seed", columns="label", values=metric)
    best = {label: top_mean(table[label].dropna()) for label in labels}
    for y, label in enumerate(others):
        dots(ax, y, (table[label] - table[first]).dropna().to_numpy(), OURS)
        gaps = [
            ("^", OURS, best[label] - best[first]),
            ("*", OURS, table[label].max() - table[first].max()),
            ("^", PAPER, top.get(label, np.nan) - top.get(first, np.nan)),
            ("*", PAPER, maximum.get(label, np.nan) - maximum.get(first, np.nan)),
        ]
        for place, (mark, color, gap) in enumerate(gaps):
            ax.plot(gap, y + 0.12 * (place - 1), mark, color=color, ms=8, mfc="none")
    ax.axvline(0, color="black", lw=0.8, zorder=0)
    marks = {"all seeds: mean, 95 % interval": ("o", OURS), f"top {BEST}": ("^", OURS)}
    marks |= {"maximum": ("*", OURS), "the paper's two": ("^", PAPER)}
    mark_legend(figure, marks)
    return figure
