"""Figures of a benchmark, from the tables of `tables`."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from mocose_study.results.style import OURS, PAPER, style


def ratios(table: pd.DataFrame) -> Figure:
    """Median and range over the rounds, a row a figure; the target as a mark."""
    style()
    table = table[table["median"].notna()]
    figure, ax = plt.subplots(figsize=(7.2, 0.32 * len(table) + 1.2))
    rows = np.arange(len(table))[::-1]
    names = [
        f"{r.figure} ({', '.join(filter(None, (r.encoder, r.text)))})" for r in table.itertuples()
    ]
    ax.hlines(rows, table["low"], table["high"], color=OURS, lw=2)
    ax.plot(table["median"], rows, "o", color=OURS, ms=5, label="median and range of the rounds")
    ax.plot(table["target"].astype(float), rows, "D", color=PAPER, ms=5, mfc="none", label="target")
    ax.axvline(1, color="black", lw=0.8)
    ax.set_yticks(rows, names, fontsize=8)
    ax.set(xlabel="speed of the first / of the second", xscale="log", ylim=(-0.8, len(table) - 0.2))
    low, high = table["low"].min() / 1.5, table["high"].max() * 1.5
    ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8, 16) if low <= t <= high]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


def breakdown(table: pd.DataFrame) -> Figure:
    """A bar a step, made of what its time goes into."""
    style()
    table = table.assign(step=table["encoder"] + " " + table["precision"])
    wide = table.pivot(index="step", columns="kind", values="milliseconds")
    wide = wide[table["kind"].drop_duplicates()]
    figure, ax = plt.subplots(figsize=(7.2, 0.6 * len(wide) + 2.0))
    share = wide.div(wide.sum(axis=1), axis=0) * 100
    colors = sns.color_palette("colorblind", len(wide.columns))
    share.plot.barh(stacked=True, ax=ax, color=colors, width=0.7)
    ax.set(xlabel="share of a training step (%)", ylabel="", xlim=(0, 100))
    handles = ax.get_legend_handles_labels()
    ax.get_legend().remove()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    ax.grid(axis="y", visible=False)
    return figure


def cost(table: pd.DataFrame) -> Figure:
    """Measured milliseconds a step beside the formula's, over each thing that is varied."""
    style()
    names = list(table["varied"].drop_duplicates())
    figure, axes = plt.subplots(1, len(names), figsize=(2.1 * len(names), 2.7), sharey=True)
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        part = table[table["varied"] == name].sort_values("value")
        ax.plot(part["value"], 1e3 * part["seconds"], "o", color=OURS, label="measured")
        ax.plot(part["value"], 1e3 * part["predicted"], "-", color=PAPER, label="formula")
        ax.plot(part["value"], 1e3 * part["floor"], ":", color="black", label="floor")
        ax.set(xlabel=name, xscale="log", yscale="log")
        ax.set_xticks(part["value"], [str(v) for v in part["value"]], fontsize=8)
        ax.minorticks_off()
    np.atleast_1d(axes)[0].set_ylabel("ms a step")
    handles = np.atleast_1d(axes)[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3, frameon=False)
    return figure
