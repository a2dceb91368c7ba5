"""The cosines of scored pairs by their grade (SimCSE, appendix G, Figure G.1)."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from mocose_study.runs.measure import GRADES, QUANTILES
from mocose_study.sections.grid import Grid

from .style import color_of, style
from .tables import records


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
    low, lower, median, upper, high = QUANTILES
    style(layout=False)
    grid = sns.FacetGrid(table, col="label", col_wrap=4, height=2.1, sharex=False)
    for label, ax in grid.axes_dict.items():
        part, color = table[table["label"] == label], color_of(label)
        ax.hlines(part["grade"], part[low], part[high], color, lw=1)
        ax.hlines(part["grade"], part[lower], part[upper], color, lw=4)
        ax.plot(part[median], part["grade"], "o", color="white", mec=color, ms=5)
    grid.set(yticks=range(1, GRADES + 1), ylim=(0.5, GRADES + 0.5))
    grid.set_axis_labels("cosine similarity", "grade (5: highest)").set_titles("{col_name}")
    return grid.tight_layout().figure
