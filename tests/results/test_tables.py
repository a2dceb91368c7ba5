"""Tables of a section, from run files made up on the spot."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import EMA, SCORES, write, write_section

from mocose_study.results import tables
from mocose_study.results.opened import Opened
from mocose_study.runs.files import run_file
from mocose_study.sections import SECTIONS


@pytest.fixture
def runs(study) -> pd.DataFrame:
    """Seeds 0, 1 and 2 of three decays: one below its mean, at it, and one above."""
    write_section()
    return tables.table_of(EMA, "tiny", range(3))


def test_a_run_is_a_row_with_its_fields_metrics_and_what_follows(runs, study):
    assert len(runs) == 9 and list(runs["label"].unique()) == list(SCORES)
    row = runs[(runs["label"] == "0.85") & (runs["seed"] == 2)].iloc[0]
    assert (row["sts_avg"], row["sts_last"], row["ema_decay"]) == (65.0, 64.0, 0.85)
    assert row["distance"] == pytest.approx(14.6667, abs=1e-4)  # 1 / 0.15 + 512 / 64
    assert (row["best_step"], row["fixed"]) == (2, False)
    # Figure 4's distance from (3, -1) to the optimum (0, -4): the root of 9 + 9
    shape = {"sts_avg": 60.0, "alignment dev": 3.0, "uniformity dev": -1.0}
    write(EMA.config("0.9", "tiny", 0), metrics=shape)
    near = tables.table_of(EMA, "tiny", [0]).set_index("label")["nearness_l2 dev"]
    assert near["0.9"] == pytest.approx(-(18**0.5)) and np.isnan(near["0.85"])


def test_runs_of_ones_own_stand_beside_those_of_the_study(runs, study):
    mine = EMA.with_point("mine", {"queue_size": 64})
    config = mine.config("mine", "tiny", 0)
    path = run_file(config, "tiny")
    write(config, 70.0)
    own = tables.own_folder("tiny")
    own.mkdir(parents=True)
    path.rename(own / path.name)
    table = tables.table_of(mine, "tiny", range(3))
    assert table.set_index("label").loc["mine", "sts_avg"] == 70.0 and len(table) == 10
    assert own == study / "runs" / "tiny"


def test_a_damaged_run_is_named_and_left_out(runs, caplog):
    path = run_file(EMA.config("0.5", "tiny", 0), "tiny")
    path.write_text(path.read_text().replace("60.0", "99.0", 1))
    assert len(tables.table_of(EMA, "tiny", range(3))) == len(runs) - 1
    assert f"run file {path.name} is damaged" in caplog.text


def test_an_undefined_correlation_counts_as_nothing_and_all_else_stays_undefined(study):
    """An alignment of 0 would be perfect, and an accuracy of 0 worse than chance."""
    names = ("sts_avg", "STS12 test all", "alignment dev", "MR test")
    write(EMA.config("0.5", "tiny", 0), metrics=dict.fromkeys(names, math.nan))
    (row,) = tables.table_of(EMA, "tiny", [0]).to_dict("records")
    assert row["sts_avg"] == row["STS12 test all"] == 0.0
    assert pd.isna(row["alignment dev"]) and pd.isna(row["MR test"])


def test_subsets_are_averaged_only_where_a_task_has_several():
    """STS-B and SICK-R are one set each, as in SimCSE's Table B.3."""
    scores = {"STS12 test all": 99.0, "STS12 test mean": 10.0, "STS12 test wmean": 12.0}
    scores |= {"STS-B test all": 50.0, "STS-B test wmean": 99.0, "STS-B dev all": 99.0}
    scores |= {"mine test all": 40.0}
    expected = {"sts_mean": (10 + 50 + 40) / 3, "sts_wmean": (12 + 50 + 40) / 3}
    assert tables.over_subsets(scores) == pytest.approx(expected)


def test_ours_stands_beside_the_paper_centred_on_the_points_that_both_have(runs):
    table = tables.beside_paper(EMA, runs)
    columns = ["mean", "low", "high", "n", "last step", "the paper"]
    half = 4.302653 / 3**0.5  # t(0.975, 2 degrees of freedom), standard deviation 1
    expected = [61, 61 - half, 61 + half, 3, 60, 75.76]
    assert table.loc["0.5", columns].tolist() == pytest.approx(expected, abs=1e-5)
    assert table["ours, centred"].tolist() == [0, 3, -11]
    centred = [0, 76.49 - 75.76, 75.12 - 75.76]
    assert table["the paper, centred"].tolist() == pytest.approx(centred)
    pace = tables.beside_paper(SECTIONS["pace"], runs[:0])
    assert pace.empty and "the paper" not in pace


def test_tasks_are_gathered_by_label(runs):
    row = Opened(EMA, "tiny", range(3)).by_task().loc["0.85"]
    assert [*row[:2].items()] == [("STS12", "54.00"), ("average", "64.00")]
    assert row[["steps", "lr"]].tolist() == ["300", "0.001"]


def test_differences_are_of_the_seeds_that_both_have(runs):
    own = runs[(runs["label"] != "0.5") | (runs["seed"] > 0)]
    gaps = tables.differences(own, ["0.85", "0.99"], "0.5")
    each = {k: dots.tolist() for k, (dots, _) in gaps.items()}
    assert each == {"0.85": [3, 3], "0.99": [-11, -11]}
    fixed = runs.assign(fixed=runs["label"].eq("0.5"))
    one = fixed[~fixed["fixed"] | (fixed["seed"] == 0)]  # 60 stands for all seeds
    dots, mean = tables.differences(one, ["0.85"], "0.5")["0.85"]
    assert dots.tolist() == [3, 4, 5] and (mean.mean, mean.n) == (4, 3)


def test_without_shared_streams_they_are_from_the_mean(runs):
    """Scores 60, 61, 62 and 63, 64, 65; Welch's half-width: 2.776 sqrt(2 / 3)."""
    other = runs.assign(method=runs["label"].replace({"0.5": "simcse"}))
    dots, mean = tables.differences(other, ["0.85"], "0.5")["0.85"]
    assert dots.tolist() == [2, 3, 4]
    assert mean.half == pytest.approx(2.776 * (2 / 3) ** 0.5, abs=1e-3)


def test_the_queues_staleness_is_measured_at_three_moments(study):
    config = EMA.config("0.5", "tiny", 0)  # equation 4 gives 2 + 512 / 64
    kept = {1: 0.75, 2: 0.5, 3: 0.0}.items()
    measured = [{"step": s, "n": [256, 256], "retained": [1.0, k]} for s, k in kept]
    write(config, progress={"staleness": measured})
    # keys that are left: 448, 384 and 256, which are 7, 6 and 4 batches
    told = Opened(EMA, "tiny", [0]).staleness().loc["0.5"].tolist()
    assert told == ["10.00", "9.00", "8.00", "6.00", "0.50"]
    write(config, progress={})
    assert Opened(EMA, "tiny", [0]).staleness().empty


def test_people_never_see_nan():
    table = pd.DataFrame({"a": ["x", "y"], "b": [1.25, np.nan], "n": [5.0, 10.0]})
    lines = "| a | b | n |", "| --- | ---: | ---: |", "| x | 1.2 | 5 |", "| y |  | 10 |"
    assert tuple(tables.markdown(table).splitlines()) == lines
    assert tables.aligned(pd.Series([10.0, np.inf])).tolist() == ["10.00", ""]


def test_a_score_that_is_undefined_does_not_count():
    runs = pd.DataFrame({"label": list("aaab"), "x": [1.0, 3.0, np.nan, np.nan]})
    summary = tables.summary(runs, "x").set_index("label")
    assert summary.loc["a", ["mean", "n"]].tolist() == [2, 2]
    assert summary.loc["b", "n"] == 0 and np.isnan(summary.loc["b", "mean"])
