"""The look of every figure: colours, marks, and a dot plot with a row a setting.

A system has the same colour in every figure. Marks and dashes tell apart what grey makes alike.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mocose_study.claims.stats import interval

OURS, PAPER = "#0072B2", "#D55E00"  # of Okabe and Ito's palette, as most colours below
WIDTH = 7.2  # inches
# A label belongs to the system with the longest name that it begins with.
SYSTEMS = {
    "MoCoSE": OURS,
    "SimCSE": "#E69F00",
    "SimCSE supervised": "#8C4A00",
    "S-SimCSE": "#F0C75E",
    "MoCo": "#56B4E9",
    "untrained": "#4D4D4D",
    "whiten": "#CC79A7",
    "flow": "#882255",
    "CT": "#009E73",
    "DeCLUTR": "#44AA99",
    "IS-BERT": "#117733",
    "GloVe": "#999933",
    "word counts": "#A0A0A0",
    "TF-IDF": "#7A7A7A",
}
VERDICTS = {  # mark and colour
    "supported": ("o", "#009E73"),
    "not supported": ("X", PAPER),
    "inconclusive": ("s", "#7F7F7F"),
    "not testable here": ("v", "#B9B9B9"),
}
DASHES, MARKS = ("-", "--", "-.", ":"), "osD^vP*X"
RC = {"figure.dpi": 120, "svg.fonttype": "none", "svg.hashsalt": "mocose"}
RC |= {"axes.titlelocation": "left", "figure.constrained_layout.use": True}


def style() -> None:
    sns.set_theme("paper", "whitegrid", font="DejaVu Sans", font_scale=1.15, rc=RC)


def system_of(label: str) -> str | None:
    """The system that a label names, or None."""
    return max((name for name in SYSTEMS if label.startswith(name)), key=len, default=None)


def color_of(label: str) -> str:
    return SYSTEMS.get(system_of(label), OURS)


def styles(labels: Sequence[str]) -> dict[str, dict]:
    """Colour, dash and mark of every label: a system's own colour, else its place in an order."""
    found = {}
    order = sns.color_palette("viridis", len(labels))
    for i, label in enumerate(labels):
        color = SYSTEMS.get(system_of(label), order[i])
        found[label] = {"color": color, "ls": DASHES[i % 4], "marker": MARKS[i % 8]}
    return found


def rows_figure(labels: Sequence[str], xlabel: str, ylabel: str = "") -> tuple[Figure, Axes]:
    """An empty dot plot with a row a label, the first at the top."""
    style()
    figure, ax = plt.subplots(figsize=(WIDTH, 0.34 * len(labels) + 1.5))
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


def mark_legend(figure: Figure, marks: dict[str, tuple[str, str]]) -> None:
    """A legend above the axes, {name: (mark, colour)}; a diamond, the paper's mark, is hollow."""
    handles = [
        plt.Line2D([], [], lw=0, marker=m, color=c, mfc="none" if m == "D" else c, label=name)
        for name, (m, c) in marks.items()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, frameon=False)


def legend_right(ax: Axes) -> None:
    ax.legend(title="", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
