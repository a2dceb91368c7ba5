"""Figures of a benchmark, from the tables of `tables`."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from mocose_study.results.style import OURS, PAPER, log_axis, mark_legend, panel, rows_figure, style


def ratios(table: pd.DataFrame) -> Figure:
    """Median and range over the rounds, a row a figure; the target as a mark."""
    table = table[table["median"].notna()]
    names = [", ".join(filter(None, x)) for x in table[["figure", "encoder", "text"]].to_numpy()]
    figure, ax = rows_figure(names, "speed of the first / of the second")
    rows = range(len(names))
    ax.hlines(rows, table["low"], table["high"], color=OURS, lw=2)
    ax.plot(table["median"], rows, "o", color=OURS, ms=5)
    ax.plot(table["target"].astype(float), rows, "D", color=PAPER, ms=5, mfc="none")
    ax.axvline(1, color="black", lw=0.8)
    log_axis(ax)
    mark_legend(figure, {"median and range of the rounds": ("o", OURS), "target": ("D", PAPER)})
    return figure


def breakdown(table: pd.DataFrame) -> Figure:
    """A bar a step, made of what its time goes into."""
    table = table.assign(step=table["encoder"] + " " + table["precision"])
    wide = table.pivot(index="step", columns="kind", values="milliseconds")
    share = 100 * wide[table["kind"].unique()].div(wide.sum(axis=1), axis=0)
    figure, ax = panel(0.6 * len(wide) + 2.0)
    colors = sns.color_palette("colorblind", share.shape[1])
    share.plot.barh(stacked=True, ax=ax, color=colors, width=0.7, legend=False)
    ax.set(xlabel="share of a training step (%)", ylabel="", xlim=(0, 100))
    ax.grid(axis="y", visible=False)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


def cost(table: pd.DataFrame) -> Figure:
    """Measured milliseconds a step beside the formula's, over each thing that is varied."""
    style(layout=False)
    grid = sns.FacetGrid(table, col="varied", col_wrap=3, height=2.4, sharex=False)
    looks = {"seconds": ("o", OURS), "predicted": ("-", PAPER), "floor": (":", "black")}
    for name, ax in grid.axes_dict.items():
        part = table[table["varied"] == name].sort_values("value")
        for column, (mark, color) in looks.items():
            ax.plot(part["value"], 1e3 * part[column], mark, color=color)
        ax.set(xlabel=name, xscale="log", yscale="log", title="")
        ax.set_xticks(part["value"], part["value"].map("{:,}".format), fontsize=7)
        ax.minorticks_off()
    grid.set_ylabels("ms a step").tight_layout(rect=(0, 0, 1, 0.93))
    grid.figure.legend(ax.lines, ("measured", "formula", "floor"), loc="upper center", ncols=3)
    return grid.figure
