"""The cosines of scored pairs by their grade (SimCSE, appendix G, Figure G.1)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mocose_study.runs.measure import GRADES, QUANTILES
from mocose_study.sections.grid import Grid

from .style import color_of, panel
from .tables import records


def by_grade(grid: Grid, profile: str, seeds=None) -> pd.DataFrame:
    """Label, grade (1 the lowest), and a column for each of QUANTILES; means over seeds."""
    rows = [
        (label, grade, *quantiles)
        for label, record in records(grid, profile, seeds)
        for grade, quantiles in enumerate(record["cosines"], 1)
    ]
    table = pd.DataFrame(rows, columns=["label", "grade", *QUANTILES])
    return table.groupby(["label", "grade"], sort=False).mean().reset_index()


def draw(table: pd.DataFrame) -> Figure:
    """`by_grade`: a panel a label; 5 to 95 % of the pairs thin, 25 to 75 % thick, the median."""
    labels = table["label"].unique()
    figure, axes = panel(2.8, len(labels), width=1.7 * len(labels) + 0.8)
    for ax, label in zip(np.atleast_1d(axes), labels, strict=True):
        part, color = table[table["label"] == label], color_of(label)
        for low, high, width in ((0.05, 0.95, 1), (0.25, 0.75, 4)):
            ax.hlines(part["grade"], part[low], part[high], color, lw=width)
        ax.plot(part[0.5], part["grade"], "o", color="white", mec=color, ms=5)
        ax.set(yticks=range(1, GRADES + 1), ylim=(0.5, GRADES + 0.5))
        ax.set_title(label, fontsize="small")
    figure.supxlabel("cosine similarity", fontsize="medium")
    figure.supylabel("grade, 5 the most similar", fontsize="medium")
    return figure
