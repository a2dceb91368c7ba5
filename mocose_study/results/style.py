"""The look of every figure: colours, marks, and dot plots with a row a setting.

A system has the same colour in every figure. Marks and dashes tell apart what grey makes alike.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from mocose_study.claims.stats import interval
from mocose_study.config import read_toml
from mocose_study.systems import SYSTEMS

LOOK = read_toml(__package__, "style")
OURS, PAPER, VERDICTS = (LOOK[name] for name in ("ours", "paper", "verdicts"))
COLOURS = {system.label: system.colour for system in SYSTEMS.values()}
WIDTH = 7.2  # inches
DASHES, MARKS = ("-", "--", "-.", ":"), "osD^vP*X"


def style(layout: bool = True) -> None:
    """Sets the look; without `layout` for seaborn's grids of panels, which lay out themselves."""
    rc = LOOK["rc"] | {"figure.constrained_layout.use": layout}
    sns.set_theme("paper", "whitegrid", font="DejaVu Sans", font_scale=1.15, rc=rc)


def color_of(label: str, other=OURS):
    """That of the system with the longest name with which it begins, or `other`."""
    system = max(filter(label.startswith, COLOURS), key=len, default=None)
    return COLOURS.get(system, other)


def styles(labels: Sequence[str]) -> dict[str, dict]:
    """Colour, dash and mark of every label: a system's own colour, else its place in an order."""
    order = sns.color_palette("viridis", len(labels))
    return {
        label: {
            "color": color_of(label, order[i]),
            "ls": DASHES[i % 4],
            "marker": MARKS[i % 8],
        }
        for i, label in enumerate(labels)
    }


def panel(height: float, columns: int = 1, width: float = WIDTH):
    """An empty figure, inches high and wide, and its axes: one, or an array of `columns`."""
    style()
    return plt.subplots(1, columns, figsize=(width, height), sharey=True)


def rows_figure(
    labels: Sequence[str], xlabel: str, ylabel: str = ""
) -> tuple[Figure, Axes]:
    """An empty dot plot with a row a label, the first at the top."""
    figure, ax = panel(0.34 * len(labels) + 1.5)
    ax.set_yticks(range(len(labels)), labels)
    ax.set(xlabel=xlabel, ylabel=ylabel, ylim=(len(labels) - 0.4, -0.6))
    return figure, ax


def dots(ax: Axes, y: float, values: np.ndarray, color: str) -> None:
    """Every seed as a faint point, and their mean with its 95 % interval."""
    if len(values) == 0:
        return
    found = interval(values)
    ends = np.nan_to_num([[found.mean - found.low], [found.high - found.mean]])
    spread = np.linspace(-0.16, 0.16, len(values)) if len(values) > 1 else [0]
    ax.plot(values, y + np.asarray(spread), "o", ms=3.5, alpha=0.4, color=color, mew=0)
    ax.errorbar(found.mean, y, xerr=ends, fmt="o", ms=6, capsize=3, color=color)


def dot_rows(ax: Axes, rows: dict[str, np.ndarray]) -> None:
    """The dots of every row {label: values}."""
    for y, (label, values) in enumerate(rows.items()):
        dots(ax, y, values, color_of(label))


def mark_legend(figure: Figure, marks: dict[str, tuple[str, str]]) -> None:
    """A legend above the axes, {name: (mark, colour)}; all but dots and arrows are hollow."""
    handles = [
        plt.Line2D(
            [],
            [],
            lw=0,
            marker=m,
            color=c,
            mfc="none" if m in ("D", "^", "*") else c,
            label=name,
        )
        for name, (m, c) in marks.items()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3)


def log_axis(ax: Axes) -> None:
    """A logarithmic x axis that shows 1, 2 and 5 of each power of ten, as numbers."""
    ax.set_xscale("log")
    ax.xaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), minor_locator=NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")
