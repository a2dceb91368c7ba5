"""The cosines of scored pairs by their grade (SimCSE, appendix G, Figure G.1)."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from mocose_study.runs.measure import GRADES, QUANTILES
from mocose_study.sections.grid import Grid

from .style import WIDTH, color_of, style
from .tables import records

COLUMNS = 4


def by_grade(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """Label, grade (1 the lowest), and a column for each of QUANTILES; means over seeds."""
    rows = [
        (label, grade, *quantiles)
        for label, record in records(grid, profile, seeds)
        for grade, quantiles in enumerate(record.get("cosines", ()), 1)
    ]
    table = pd.DataFrame(rows, columns=["label", "grade", *QUANTILES])
    return table.groupby(["label", "grade"], sort=False).mean().reset_index()


def draw(table: pd.DataFrame) -> Figure:
    """`by_grade`: a panel a label, each with its own range of cosines.

    Thin: 5 to 95 % of the pairs; thick: 25 to 75 %; a dot: the median.
    """
    style()
    labels = table["label"].unique()
    size = {"figsize": (WIDTH, 2.1 * -(-len(labels) // COLUMNS)), "sharey": True, "squeeze": False}
    figure, grid = plt.subplots(-(-len(labels) // COLUMNS), COLUMNS, **size)
    for empty in grid.flat[len(labels) :]:
        empty.set_axis_off()
    for ax, label in zip(grid.flat, labels, strict=False):
        part, color = table[table["label"] == label], color_of(label)
        for low, high, width in ((0.05, 0.95, 1), (0.25, 0.75, 4)):
            ax.hlines(part["grade"], part[low], part[high], color, lw=width)
        ax.plot(part[0.5], part["grade"], "o", color="white", mec=color, ms=5)
        ax.set(yticks=range(1, GRADES + 1), ylim=(0.5, GRADES + 0.5))
        ax.set_title(label, fontsize="small")
    figure.supxlabel("cosine similarity", fontsize="medium")
    figure.supylabel("grade, 5 the most similar", fontsize="medium")
    return figure
