"""The look of every figure: colours, marks, and dot plots with one row per setting.

A system has the same colour in every figure. Marks and dashes tell apart what grey
makes alike.
"""

from collections.abc import Sequence
from itertools import cycle

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes

from mocose_study.claims.stats import Interval
from mocose_study.config import read_toml
from mocose_study.systems import SYSTEMS

LOOK = read_toml(__package__, "style")
OURS, PAPER, VERDICTS = (LOOK[name] for name in ("ours", "paper", "verdicts"))
COLOURS = {system.label: system.colour for system in SYSTEMS.values()}
DASHES, MARKS = ("-", "--", "-.", ":"), "osD^vP*X"


def color_of(label: str, other=OURS):
    """That of the system with the longest name with which it begins, or `other`."""
    system = max(filter(label.startswith, COLOURS), key=len, default=None)
    return COLOURS.get(system, other)


def styles(labels: Sequence[str]) -> dict[str, dict]:
    """Colour, dash and mark of every label.

    A system has its own colour. Other labels have one by their place: of an ordered
    scale where there are numbers, else of distinct colours.
    """
    names = not any(label[0].isdigit() or color_of(label, None) for label in labels)
    order = sns.color_palette("colorblind" if names else "viridis", len(labels))
    looks = zip(labels, order, cycle(DASHES), cycle(MARKS), strict=False)
    return {
        label: {"color": color_of(label, color), "ls": dash, "marker": mark}
        for label, color, dash, mark in looks
    }


def panel(height: float, columns: int = 1, width: float = 7.2):
    """An empty figure, inches high and wide, and its axes: one, or so many columns."""
    rc = LOOK["rc"] | {"figure.constrained_layout.use": True}
    sns.set_theme("paper", "whitegrid", font="DejaVu Sans", font_scale=1.15, rc=rc)
    return plt.subplots(1, columns, figsize=(width, height), sharey=True)


def dot_rows(ax: Axes, rows: dict[str, tuple[np.ndarray, Interval]]) -> None:
    """One row per label: every seed faint, and the mean with its 95 % interval."""
    for y, (label, (values, estimate)) in enumerate(rows.items()):
        if len(values):
            color = color_of(label)
            ends = [[estimate.mean - estimate.low], [estimate.high - estimate.mean]]
            heights = y + np.linspace(-0.16, 0.16, len(values)) * (len(values) > 1)
            ax.plot(values, heights, "o", ms=3.5, alpha=0.4, color=color, mew=0)
            look = {"fmt": "o", "ms": 6, "capsize": 3, "color": color}
            ax.errorbar(estimate.mean, y, xerr=np.nan_to_num(ends), **look)
