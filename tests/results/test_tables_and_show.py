"""Tables that notebooks show, from run files made up on the spot."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up import GRID, write, write_all

from mocose_study.config import Config, InputError, vary
from mocose_study.results import show, tables
from mocose_study.results.explain import ages_over_time, by_aggregation
from mocose_study.runs.files import run_file
from mocose_study.sections import GRIDS
from mocose_study.sections.grid import Grid, Point


@pytest.fixture
def runs(study):
    write_all()
    return show.runs_of(GRID, "tiny", range(3))


def test_ours_stands_beside_the_paper_centred_on_the_points_that_both_have(runs):
    table = show.beside_paper(GRID, runs).set_index("point")
    assert table.loc["0.5", ["mean", "n", "paper", "last step"]].tolist() == [
        61.0,
        3,
        75.76,
        60.0,
    ]
    assert table["ours, centred"].tolist() == [-1.5, 1.5, -12.5]
    assert table["paper, centred"].tolist()[:2] == pytest.approx(
        [-0.365, 0.365], abs=0.006
    )
    assert np.isnan(table.loc["0.7", "paper"])
    assert show.blank(table).loc["0.7", "paper"] == ""  # people never see NaN
    assert "paper" not in show.beside_paper(Grid("?", GRID.points), runs)


def test_a_table_that_lacks_the_metric_has_no_numbers_of_the_paper():
    grid = GRIDS["simcse_dropout"]
    assert show.paper_values(grid) == {}
    assert show.paper_values(grid, "STS-B dev")["0.1"] == 82.5


def test_a_table_for_people_has_names_for_rows_and_equal_decimals():
    table = pd.DataFrame(
        {"point": ["a", "b", "c"], "mean": [52.17, 53.3, None], "n": [5, 10, 1]}
    )
    told = show.blank(table)
    assert list(told.index) == ["a", "b", "c"] and told.columns.name == "point"
    assert told["mean"].tolist() == ["52.17", "53.30", ""] and told["n"].tolist() == [
        5,
        10,
        1,
    ]
    assert tables.aligned(pd.Series([10.0, np.nan, 3e-4])).tolist() == [
        "10.0000",
        "",
        "0.0003",
    ]


def test_a_table_has_what_follows_from_a_run(study):
    config, other = GRID.configs("tiny", [0])[:2]
    metrics = {"sts_avg": 60.0, "alignment dev": 3.0, "uniformity dev": 0.0}
    write(config, metrics=metrics, resampled=[59.0, 61.0])
    progress = {
        "best_step": 4,
        "collapsed": "step 2: the mean cosine is 1.0",
        "staleness": [],
    }
    write(other, progress=progress)
    first, second = tables.table_of(GRID, "tiny", [0]).to_dict("records")
    # Figure 4's distance from (3, 0) to the optimum (0, -4): 3 + 4 and the root of 9 + 16
    assert (first["nearness_l1 dev"], first["nearness_l2 dev"]) == (-7.0, -5.0)
    assert first["resampled"] == [59.0, 61.0] and first["profile"] == "tiny"
    assert (second["collapsed"], second["best_step"]) == (1.0, 4)
    assert np.isnan(second["nearness_l1 dev"])


def test_a_correlation_that_is_undefined_counts_as_nothing(study):
    for seed, score in enumerate([60.0, 30.0, math.nan]):
        write(vary(GRID.configs("tiny", [0])[0], seed=seed), metrics={"sts_avg": score})
    runs = show.runs_of(GRID, "tiny", range(3))
    assert runs["sts_avg"].tolist() == [60.0, 30.0, 0.0]
    assert show.beside_paper(GRID, runs)["mean"].tolist() == [30.0]


def test_what_is_undefined_and_no_correlation_stays_so(study):
    """An alignment of 0 would be perfect, and an accuracy of 0 worse than chance."""
    undefined = {
        "STS12 test all": math.nan,
        "alignment dev": math.nan,
        "MR test": math.nan,
    }
    write(GRID.configs("tiny", [0])[0], metrics={"sts_avg": 0.0, **undefined})
    (row,) = tables.table_of(GRID, "tiny", [0]).to_dict("records")
    assert row["STS12 test all"] == 0.0
    assert pd.isna(row["alignment dev"]) and pd.isna(row["MR test"])


def test_a_damaged_run_is_named_and_not_shown(runs, caplog):
    path = run_file(GRID.configs("tiny", [0])[0], "tiny")
    path.write_text(path.read_text().replace("60.0", "99.0", 1))
    found = tables.table_of(GRID, "tiny", range(3))
    assert len(found) == len(runs) - 1 and 99.0 not in set(found["sts_avg"])
    assert f"run file {path.name} is damaged" in caplog.text


def test_markdown_has_a_row_a_system_and_every_task(runs):
    lines = show.scores_markdown(GRID, "tiny").splitlines()
    assert lines[0] == "| system | STS12 | avg | low | high | n | last step |"
    assert lines[2] == "| 0.5 | 51.0 | 61.0 | 58.5 | 63.5 | 3 | 60.0 |"
    assert [line.split()[1] for line in lines[2:]] == [
        "0.5",
        "0.85",
        "0.7",
    ]  # the grid's order
    paper = show.by_task(GRID, runs, show.paper_values(GRID))["paper"]
    assert paper.tolist()[:2] == [75.76, 76.49] and np.isnan(paper[2])
    assert tables.markdown(pd.DataFrame({"a": ["x"], "b": [np.nan]})).endswith(
        "| x |  |"
    )


def test_a_score_is_rounded_once(study):
    for config in GRID.configs("tiny", range(3)):
        write(config, score=60.4466)
    assert (
        show.scores_markdown(GRID, "tiny")
        .splitlines()[2]
        .startswith("| 0.5 | 50.4 | 60.4 |")
    )


def test_curves_and_spectra_are_gathered_by_label(runs):
    curves = show.training_curves(GRID, "tiny", range(3))
    assert len(curves) == 9 and set(curves["label"]) == {"0.5", "0.85", "0.7"}
    assert curves.groupby("label")["score"].mean()["0.85"] == 64.0
    assert show.training_curves(GRID, "tiny", range(3), "trajectory").empty
    assert show.spectra(GRID, "tiny", range(3))["0.5"] == [[1.0, 0.5]] * 3
    assert show.wide({"a": [1.0, 0.5], "b": [1.0]})["b"].isna().tolist() == [
        False,
        True,
    ]


def test_differences_are_paired_by_seed(runs):
    table = show.differences(runs, "0.5").set_index("point")
    assert table.loc["0.85", ["difference", "low", "high", "n"]].tolist() == [
        3.0,
        3.0,
        3.0,
        3,
    ]
    low = -11 - 4.302653 / 3**0.5  # t(0.975, 2 d.f.), differences -10, -11, -12
    assert table.loc["0.7", "low"] == pytest.approx(low)


def test_a_difference_may_be_to_another_point_for_each_and_needs_both(runs):
    against = {"0.85": "0.7", "0.7": "0.5", "0.5": "without runs"}
    assert show.differences(runs, against)["difference"].tolist() == [14.0, -11.0]
    found = show.by_seed(runs[(runs["label"] != "0.7") | (runs["seed"] > 0)], against)
    assert found[["label", "seed", "difference"]].to_numpy().tolist() == [
        ["0.85", 1, 14.0],
        ["0.85", 2, 15.0],
        ["0.7", 1, -11.0],
        ["0.7", 2, -12.0],
    ]


def test_stored_results_are_those_of_the_same_config_at_any_seed(runs):
    config = GRID.configs("tiny", [0])[0]
    assert (
        show.stored(config, "tiny")
        == "3 runs of 500 steps at profile tiny, Spearman × 100: 61.00 on average"
    )
    assert (
        show.stored(vary(config, queue_size=256), "tiny")
        == "no runs of 500 steps at profile tiny"
    )


def test_a_two_way_grid_becomes_a_table_like_the_papers():
    grid = GRIDS["queue"]
    paper = show.two_way(grid, show.paper_values(grid))
    assert paper.loc[512, "quarter"] == 77.30 and list(paper.index) == [
        128,
        256,
        512,
        1024,
        4096,
    ]
    assert paper.columns.to_list() == ["none", "quarter", "half", "all"]
    ours = show.two_way(
        grid, {"512, quarter": 61.0, "4096, quarter": 50.0, "control": 9.0}
    )
    assert ours["quarter"].to_dict() == {512: 61.0, 4096: 50.0}


def test_staleness_is_measured_at_three_moments_of_the_training(study):
    config = GRID.configs("tiny", [0])[0]  # decay 0.5: equation 4 gives 2 + K / B
    measured = [
        {"step": step, "n": [64, 32], "retained": [1.0, kept]}
        for step, kept in ((1, 0.9), (2, 0.5), (3, 0.0))
    ]
    write(config, progress={"best_step": 0, "history": [], "staleness": measured})
    reach = 2 + config.queue_size / config.batch_size
    moments = [round(2 + left / 64, 2) for left in (64 + 0.9 * 32, 64 + 0.5 * 32, 64)]
    assert show.staleness(GRID, "tiny", [0]).loc["0.5"].tolist() == [
        reach,
        *moments,
        0.5,
    ]
    write(config, progress={"best_step": 0, "staleness": []})  # a run without a queue
    assert show.staleness(GRID, "tiny", [0]).empty


@pytest.mark.parametrize(
    "decay, counts, retained, expected",
    [
        (
            0.75,
            [50, 50, 50, 50],
            [1.0] * 4,
            4 + 200 / 50,
        ),  # nothing has drifted: equation 4
        (1.0, [50, 50, 50, 50], [0.5] * 4, math.inf),
        (0.5, [50, 50], [1.0, 0.25], 2 + 1.25),
        (
            0.75,
            [],
            [],
            4,
        ),  # an empty queue leaves the reach of the moving average alone
    ],
)
def test_the_empirical_distance_by_hand(decay, counts, retained, expected):
    size = sum(counts)
    config = Config(
        ema_decay=decay,
        queue_size=size,
        queue_init=0,
        batch_size=50,
        batch_negatives=True,
    )
    found = {"n": counts, "retained": retained}
    assert show.empirical_distance(found, config) == pytest.approx(expected)


def test_gains_of_a_pre_training_are_over_each_encoders_best_pooling(study):
    rows = [
        ("tiny-long-4M, [CLS]", 0, 20.0),
        ("tiny-long-4M, mean", 0, 40.0),
        ("tiny-long-4M, SimCSE", 0, 41.0),
        ("tiny-long-4M, SimCSE", 1, 43.0),
        ("tiny-long, mean", 0, 50.0),
        ("tiny-long, SimCSE", 0, 49.0),
    ]
    runs = pd.DataFrame(rows, columns=["label", "seed", "sts_avg"])
    means, gains = show.pretraining_gains(runs)
    assert means.index.tolist() == [("tiny-long", 4), ("tiny-long", 150)]
    assert means.loc[("tiny-long", 4.0), "SimCSE"] == 42.0
    assert gains["gain"].tolist() == [1.0, 3.0, -1.0] and set(gains["system"]) == {
        "SimCSE"
    }


def test_a_part_without_runs_is_said_and_shown_empty(study, capsys):
    late = Grid("And?", (Point("CT", {"method": "ct"}, tier=2),))
    for profile, sentence in (
        ("tiny", "mode = 'run' makes them"),
        ("quick", "start at tiny"),
    ):
        found = show.runs_of(late, profile)
        assert found.empty and sentence in capsys.readouterr().out
        assert (
            show.beside_paper(late, found).empty and show.by_task(late, found, {}).empty
        )
        assert show.beside_paper(late, found, "sts_dev").empty
        assert (
            show.staleness(late, profile).empty and show.differences(found, "CT").empty
        )
        assert show.errors(late, profile, [("CT", "MoCoSE")]).empty


@pytest.mark.parametrize(
    "parameters, sentence",
    [
        (("huge", "load", None), "there is no profile 'huge'"),
        (("tiny", "train", None), "there is no mode 'train'; choose one of load, run"),
        (("tiny", "load", 0), "seeds = 0 is not possible; give None for all seeds"),
        (("tiny", "load", [-1]), r"or a list such as \[0, 1\]"),
    ],
)
def test_wrong_parameters_are_told_in_one_sentence(parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        show.check_parameters(*parameters)


def test_the_queue_ages_step_by_step():
    config = vary(
        GRID.configs("tiny", [0])[0], queue_size=4, queue_init=1, batch_size=2
    )
    ages = [list(step) for step in ages_over_time(config, steps=4)]
    assert ages == [[-1], [1, 1, -1], [1, 1, 2, 2], [1, 1, 2, 2]]


def test_the_ways_of_pooling_differ_in_the_tasks_that_have_subsets_alone(study):
    grid = GRIDS["main"]
    (config,) = (c for p, c in grid.runs("tiny", [0]) if p.label == "SimCSE")
    years = {"STS12 test all": 40.0, "STS12 test mean": 50.0, "STS12 test wmean": 60.0}
    one = {"STS-B test all": 70.0, "STS-B test mean": 10.0, "STS-B test wmean": 20.0}
    write(config, metrics={"sts_avg": 55.0, **years, **one})
    (row,) = by_aggregation(grid, tables.table_of(grid, "tiny")).to_dict("records")
    assert (row["all"], row["mean"], row["wmean"]) == (55.0, 60.0, 65.0)
    assert (row["paper, all"], row["paper, wmean"]) == (
        76.25,
        76.46,
    )  # Table 5, Table B.3


def test_a_score_that_is_undefined_does_not_count():
    runs = pd.DataFrame({"label": list("aaab"), "x": [1.0, 3.0, np.nan, np.nan]})
    found = tables.summary(runs, "x").set_index("label")
    assert found.loc["a", ["mean", "n"]].tolist() == [2, 2]
    assert found.loc["b", "n"] == 0 and np.isnan(found.loc["b", "mean"])
