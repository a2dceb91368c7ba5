"""Figures of the claims: verdicts counted, the procedure on simulated runs, the best seeds."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import (
    OURS,
    PAPER,
    VERDICTS,
    dot_rows,
    is_control,
    mark_legend,
    panel,
    rows_figure,
)
from .tables import METRIC


def counts(table: pd.DataFrame) -> Figure:
    """`ledger.summary` as bars: a row a table of the papers, a colour a verdict."""
    figure, ax = panel(0.22 * len(table) + 0.9)
    _bars(ax, table)
    for bars in ax.containers:
        shown = [f"{count:.0f}" if count else "" for count in bars.datavalues]
        ax.bar_label(bars, shown, label_type="center", fontsize="x-small")
    ax.set(xlabel="claims")
    return _with_legend(figure)


def simulated(table: pd.DataFrame) -> Figure:
    """Shares of verdicts: a panel a rule, a row an effect and a number of seeds."""
    rules = list(table["rule"].unique())
    figure, axes = panel(3.0, len(rules))
    names = table["effect"].map("{:g} points, ".format) + table["seeds"].map(
        "{} seeds".format
    )
    shares = 100 * table[[word for word in VERDICTS if word in table]].set_axis(names)
    for ax, rule in zip(axes, rules, strict=True):
        _bars(ax, shares[table["rule"].eq(rule).to_numpy()])
        ax.set(title=rule, xlim=(0, 100))
    figure.supxlabel("share of simulated studies (%)", fontsize="small")
    return _with_legend(figure)


def _bars(ax: Axes, table: pd.DataFrame) -> None:
    """Stacked bars, the first row at the top."""
    style = {
        "color": VERDICTS,
        "edgecolor": "white",
        "lw": 0.5,
        "width": 0.8,
        "legend": False,
    }
    table.plot.barh(stacked=True, ax=ax, **style)
    ax.tick_params("y", labelsize="small")
    ax.set(ylim=(len(table) - 0.4, -0.6), ylabel="")
    ax.grid(axis="y", visible=False)


def _with_legend(figure: Figure) -> Figure:
    shown = figure.axes[0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside upper center", ncols=5, fontsize="small")
    return figure


def best_seeds(
    runs: pd.DataFrame,
    labels: list[str],
    top: dict[str, float],
    maximum: dict[str, float],
    best: int = 3,
) -> Figure:
    """A row a system, each measure as its difference from the first system's same measure.

    Ours: all seeds with the interval of their mean, the mean of the `best` ones, the maximum.
    The paper's (`top`, `maximum`): the last two, hollow.
    """
    first, *others = labels
    figure, ax = rows_figure(others, f"points above or below “{first}”")
    table = runs.pivot(index="seed", columns="label", values=METRIC)
    ours = table.apply(lambda seeds: seeds.nlargest(best).sum(min_count=best) / best)
    for y, label in enumerate(others):
        if is_control(label):
            continue
        gaps = [
            ("^", OURS, ours[label] - ours[first]),
            ("*", OURS, table[label].max() - table[first].max()),
            ("^", PAPER, top.get(label, np.nan) - top.get(first, np.nan)),
            ("*", PAPER, maximum.get(label, np.nan) - maximum.get(first, np.nan)),
        ]
        for place, (mark, color, gap) in enumerate(gaps):
            ax.plot(gap, y + 0.12 * (place - 1), mark, color=color, ms=8, mfc="none")
    dot_rows(ax, {x: (table[x] - table[first]).dropna().to_numpy() for x in others})
    ax.axvline(0, color="black", lw=0.8, zorder=0)
    marks = {"all seeds: mean, 95 % interval": ("o", OURS), f"top {best}": ("^", OURS)}
    marks |= {"maximum": ("*", OURS), f"the paper's top {best}": ("^", PAPER)}
    marks |= {"the paper's maximum": ("*", PAPER)}
    mark_legend(figure, marks)
    return figure
