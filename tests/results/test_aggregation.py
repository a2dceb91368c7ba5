"""Ways of putting the subsets of a year together."""

from made_up import write

from mocose_study.results.aggregation import by_aggregation
from mocose_study.results.tables import table_of
from mocose_study.sections import GRIDS


def test_the_ways_differ_in_the_tasks_that_have_subsets_alone(study):
    grid = GRIDS["main"]
    (config,) = (c for p, c in grid.runs("tiny", [0]) if p.label == "SimCSE")
    years = {"STS12 test all": 40.0, "STS12 test mean": 50.0, "STS12 test wmean": 60.0}
    one = {"STS-B test all": 70.0, "STS-B test mean": 10.0, "STS-B test wmean": 20.0}
    write(config, metrics={"sts_avg": 55.0, **years, **one})
    (row,) = by_aggregation(grid, table_of(grid, "tiny")).to_dict("records")
    assert (row["all"], row["mean"], row["wmean"]) == (55.0, 60.0, 65.0)
    assert (row["paper, all"], row["paper, wmean"]) == (76.25, 76.46)  # Table 5, Table B.3
