"""What a system scores by how the subsets of a year are put together (SimCSE, appendix B)."""

import re

import pandas as pd

from mocose_study.sections.grid import Grid, paper_numbers

from .show import labels_of, paper_values

WEIGHTED = {  # systems of the section `main` by their name in SimCSE's Table B.3
    "untrained first-last": "first_last, ",
    "whitening": "whitening, target",
    "whitening, Wikipedia": "whitening, nli",
    "flow": "flow, target",
    "flow, Wikipedia": "flow, nli",
    "SimCSE": "simcse, ",
    "SimCSE supervised": "simcse_supervised, ",
}


def by_aggregation(grid: Grid, runs: pd.DataFrame) -> pd.DataFrame:
    """One row per system: the average over tasks by how the subsets of STS12 to STS16 are put
    together (SimCSE, Tables B.2 and B.3), and the papers' average under two of these ways.

    "all" pools the pairs of all subsets, "mean" averages over subsets, and "wmean" weights them by
    their pairs. The other tasks have one set of pairs, so that "all" stands for all three.
    """
    tasks = [column.removesuffix(" all") for column in runs if column.endswith(" test all")]
    divided = [task for task in tasks if re.match(r"STS\d\d ", task)]
    found = {}
    for way in ("all", "mean", "wmean"):
        columns = [f"{task} {way if task in divided else 'all'}" for task in tasks]
        found[way] = runs[columns].mean(axis=1).groupby(runs["label"]).mean()
    table = pd.DataFrame(found).loc[labels_of(grid, runs)]
    paper = paper_numbers("simcse_tableB3", "avg")
    table["paper, all"] = table.index.map(paper_values(grid))
    table["paper, wmean"] = table.index.map({k: paper[v] for k, v in WEIGHTED.items()})
    return table.rename_axis("system").round(2).reset_index()
