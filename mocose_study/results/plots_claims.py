"""Figures of the ledger: verdicts counted by table, and the procedure on simulated runs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import VERDICTS, WIDTH, style

NO_RUNS = "#F2F2F2"


def counts(table: pd.DataFrame) -> Figure:
    """`ledger.summary` as bars: a row a table of the papers, a colour a verdict."""
    style()
    figure, ax = plt.subplots(figsize=(WIDTH, 0.22 * len(table) + 0.9))
    _bars(ax, table, "{:.0f}")
    ax.set(xlabel="claims")
    _legend(figure, table)
    return figure


def simulated(table: pd.DataFrame) -> Figure:
    """`simulation.simulate`: a panel a rule, a row an effect and a number of seeds."""
    style()
    rules = list(table["rule"].unique())
    figure, axes = plt.subplots(1, len(rules), figsize=(WIDTH, 3.0), sharey=True)
    words = [word for word in VERDICTS if word in table]
    for ax, rule in zip(axes, rules, strict=True):
        part = table[table["rule"] == rule]
        about = zip(part["effect"], part["seeds"], strict=True)
        names = [f"{effect:g} points, {n} seeds" for effect, n in about]
        _bars(ax, 100 * part[words].set_axis(names), "")
        ax.set(title=rule, xlim=(0, 100))
    figure.supxlabel("share of simulated studies (%)", fontsize="small")
    _legend(figure, table[words])
    return figure


def _bars(ax: Axes, table: pd.DataFrame, label: str) -> None:
    left = np.zeros(len(table))
    rows = np.arange(len(table))
    for word in table:
        color = VERDICTS.get(word, ("", NO_RUNS))[1]
        bars = ax.barh(rows, table[word], left=left, color=color, edgecolor="white", lw=0.5)
        if label:
            texts = [label.format(x) if x else "" for x in table[word]]
            ax.bar_label(bars, texts, label_type="center", fontsize="x-small")
        left += table[word].to_numpy()
    ax.set_yticks(rows, table.index, fontsize="small")
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)


def _legend(figure: Figure, table: pd.DataFrame) -> None:
    colors = {word: VERDICTS.get(word, ("", NO_RUNS))[1] for word in table}
    handles = [plt.Rectangle((0, 0), 1, 1, color=c, label=word) for word, c in colors.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, fontsize="small")
