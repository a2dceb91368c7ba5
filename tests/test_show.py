"""Tables, figures and the README's block, from run files made up on the spot."""

import json
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from mocose_study.results import two_errors as doubt, plots, tables as results, show, widgets
from mocose_study.config import InputError, vary
from mocose_study.sections.grid import Grid, Point
from mocose_study.runs.run import run_file
from mocose_study.sections import GRIDS

ROOT = Path(__file__).resolve().parents[1]
GRID = Grid(
    question="?", paper="mocose_table3", paper_by=("ema_decay",),
    points=(Point("0.5", {"ema_decay": 0.5}), Point("0.85", {"ema_decay": 0.85}), Point("0.7", {"ema_decay": 0.7})),
)  # fmt: skip
SCORES = {0.5: [60.0, 61.0, 62.0], 0.85: [63.0, 64.0, 65.0], 0.7: [50.0, 50.0, 50.0]}


@pytest.fixture
def runs(study):
    """Run files of three points and three seeds, beside the papers' tables."""
    (study / "data").mkdir(exist_ok=True)
    (study / "data" / "paper").symlink_to(ROOT / "data" / "paper")
    for config in GRID.configs("tiny", range(3)):
        score = SCORES[config.ema_decay][config.seed]
        record = {
            "id": run_file(config, "tiny").stem, "config": asdict(config), "seconds": 1.0,
            "metrics": {"sts_avg": score, "STS12 test all": score - 10}, "spectrum": [1.0, 0.5],
            "progress": {"best_step": 2, "history": [{"step": 2, "loss": 1.0, "score": score}]},
        }  # fmt: skip
        run_file(config, "tiny").parent.mkdir(parents=True, exist_ok=True)
        run_file(config, "tiny").write_text(json.dumps(record))
    return show.finished(GRID, "tiny", range(3))


def test_ours_stands_beside_the_paper_centred_on_the_points_that_both_have(runs):
    table = show.beside_paper(GRID, runs).set_index("point")
    assert table.loc["0.5", ["mean", "n", "paper"]].tolist() == [61.0, 3, 75.76]
    assert table["ours, centred"].tolist() == [-1.5, 1.5, -12.5]
    assert table["paper, centred"].tolist()[:2] == pytest.approx([-0.365, 0.365], abs=0.006)
    assert np.isnan(table.loc["0.7", "paper"])


def test_the_interval_is_that_of_students_t(runs):
    row = results.summary(runs, ["label"]).iloc[0]
    assert row["high"] - row["mean"] == pytest.approx(4.302653 / 3**0.5)  # t(0.975, 2 d.f.), sd 1


def test_markdown_has_a_row_a_point(runs):
    lines = show.scores_markdown(GRID, "tiny").splitlines()
    assert lines[0] == "| system | STS12 | avg | 95 % interval | n |"
    assert lines[2] == "| 0.5 | 51.0 | **61.0** | 58.5 – 63.5 | 3 |"
    assert len(lines) == 5


def test_curves_carry_label_and_seed(runs):
    curves = show.training_curves(GRID, "tiny", range(3))
    assert len(curves) == 9 and set(curves["label"]) == {"0.5", "0.85", "0.7"}
    assert curves.groupby("label")["score"].mean()["0.85"] == 64.0


def test_a_search_has_a_seed_of_its_own_and_shows_the_best_first(runs):
    assert list(show.searched(runs, "sts_avg").index) == ["0.85", "0.5", "0.7"]
    search = replace(GRID, own_seeds=(100,))
    assert {config.seed for config in search.configs("tiny")} == {100}
    assert {config.seed for config in search.configs("tiny", [1])} == {1}


def test_differences_are_paired_by_seed(runs):
    table = show.differences(runs, "0.5").set_index("point")
    assert table.loc["0.85", ["difference", "low", "high", "n"]].tolist() == [3.0, 3.0, 3.0, 3]
    low = -11 - 4.302653 / 3**0.5  # t(0.975, 2 d.f.), differences -10, -11, -12
    assert table.loc["0.7", "low"] == pytest.approx(low)


def test_settings_are_shown_as_one_writes_them():
    points = (Point("a", {"fgsm_epsilon": 5e-9, "steps": 100}), Point("b", {"lr": 0.001}))
    table = Grid(question="?", points=points).table("tiny")
    assert table[["fgsm_epsilon", "steps", "lr"]].to_numpy().tolist() == [
        ["5e-09", 100, "0.0003"], ["0", 200, "0.001"]
    ]  # fmt: skip


def test_doubt_has_the_errors_of_seeds_and_of_test_pairs(runs):
    for config in GRID.configs("tiny", range(3)):
        path, score = run_file(config, "tiny"), SCORES[config.ema_decay][config.seed]
        both = {0.5: [-1, 0, 1], 0.85: [1, 0, -1], 0.7: [0, 0, 0]}[config.ema_decay]
        resampled = [score + x for x in both]
        path.write_text(json.dumps({**json.loads(path.read_text()), "resampled": resampled}))
    pairs = [("0.85", "0.5"), ("0.7", "0.5"), ("0.7", "without runs")]
    table = doubt.errors(GRID, "tiny", pairs, range(3)).set_index("difference of")
    assert table.index.tolist() == ["0.85 - 0.5", "0.7 - 0.5"]
    assert table.iloc[0].tolist() == pytest.approx([3.0, 0.0, 2.0])  # resamples: 5, 3, 1
    assert table.iloc[1].tolist() == pytest.approx([-11.0, 3**-0.5, 1.0])


def test_a_difference_may_be_to_another_point_for_each_and_needs_both(runs):
    against = {"0.85": "0.7", "0.7": "0.5", "0.5": "without runs"}
    assert show.differences(runs, against)["difference"].tolist() == [14.0, -11.0]
    found = show.by_seed(runs[(runs["label"] != "0.7") | (runs["seed"] > 0)], against)
    assert found[["point", "seed", "difference"]].to_numpy().tolist() == [
        ["0.85", 1, 14.0], ["0.85", 2, 15.0], ["0.7", 1, -11.0], ["0.7", 2, -12.0]
    ]  # fmt: skip


def test_labels_stand_in_the_grids_order_and_only_with_runs(runs):
    assert show.labels_of(GRID, runs[runs["label"] != "0.85"].iloc[::-1]) == ["0.5", "0.7"]


def test_stored_results_are_those_of_the_same_config_at_any_seed(runs):
    config = GRID.configs("tiny", [0])[0]
    assert show.stored(config, "tiny") == "3 runs at profile tiny, Spearman × 100: 61.00 on average"
    assert show.stored(vary(config, queue_size=256), "tiny") == "no runs at profile tiny"


def test_a_two_way_grid_becomes_a_table_like_the_papers():
    grid = GRIDS["queue"]
    paper = show.pivoted_paper(grid)
    assert paper.loc[512, "quarter"] == 77.30 and paper.index.to_list() == [128, 256, 512, 1024, 4096]
    assert paper.columns.to_list() == ["none", "quarter", "half", "all"]
    runs = pd.DataFrame({"label": ["512, quarter", "512, quarter", "4096, quarter"],
                         "sts_avg": [60.0, 62.0, 50.0]})  # fmt: skip
    assert show.pivoted(grid, runs)["quarter"].to_dict() == {512: 61.0, 4096: 50.0}


def test_rankings_pair_the_benchmarks_of_a_system():
    scores = {"a": (1, 5), "b, c": (2, 7), "d": (3, 6)}  # one of three pairs changes places
    rows = [(f"{name}, {benchmark}", score) for name, both in scores.items()
            for benchmark, score in zip(("real", "generated"), both, strict=True)]  # fmt: skip
    runs = pd.DataFrame([*rows, ("e, real", 9)], columns=["label", "sts_avg"])
    table, tau = show.rankings(runs)
    assert list(table.index) == ["d", "b, c", "a"] and list(table["generated"]) == [6, 7, 5]
    assert tau == pytest.approx(1 / 3)


def test_spectra_are_gathered_by_label(runs):
    assert show.spectra(GRID, "tiny", range(3))["0.5"] == [[1.0, 0.5]] * 3


def test_without_runs_one_sentence_says_how_to_make_them(study):
    with pytest.raises(InputError, match="make study PROFILE=tiny"):
        show.finished(GRID, "tiny")


def test_a_missing_run_is_counted(runs):
    with pytest.raises(InputError, match="1 of 10 runs of profile 'tiny' are missing"):
        results.load_runs("tiny", [*GRID.configs("tiny", range(3)), GRID.configs("tiny", [9])[0]])


@pytest.mark.parametrize("damage", ["{", "[]", '{"config": {}}'])
def test_a_damaged_run_file_is_named(runs, damage):
    path = run_file(GRID.configs("tiny", [0])[0], "tiny")
    path.write_text(damage)
    with pytest.raises(InputError, match=f"run file {path.name} is damaged"):
        results.load_runs("tiny")


def test_the_figure_has_every_seed_the_mean_and_the_papers_points(runs, study):
    def draw():
        return plots.beside_paper(runs, SCORES_LABELS, show.paper_values(GRID), "sts_avg", "decay")

    figure = draw()
    top, bottom = figure.axes
    seeds = np.concatenate([line.get_ydata() for line in top.lines if line.get_marker() == "o"])
    assert sorted(seeds) == sorted(chain(*SCORES.values()))
    assert bottom.lines[0].get_ydata().tolist() == [75.76, 76.49]
    heights = [ax.get_position().height for ax in (top, bottom)]
    lengths = [np.ptp(ax.get_ylim()) for ax in (top, bottom)]
    assert lengths[0] / 2.0 == pytest.approx(lengths[1] / 1.2) and heights[0] > heights[1]
    table = show.beside_paper(GRID, runs)
    path = plots.save(figure, table, "tiny", "x")
    first = path.read_bytes()
    assert plots.save(draw(), table, "tiny", "x").read_bytes() == first
    pd.testing.assert_frame_equal(pd.read_csv(path.with_suffix(".csv"), dtype={"point": str}), table)
    plt.close("all")


SCORES_LABELS = [point.label for point in GRID.points]


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("profile", ["quick", "tiny", "base"])
def test_every_grid_makes_valid_configs_and_claims_name_its_points(name, profile):
    grid = GRIDS[name]
    configs, labels = grid.configs(profile, [0]), grid.labels(profile)
    assert len(configs) == len(set(configs)) == len(labels) == len(set(labels))
    assert labels or profile == "quick"
    known = {point.label for point in grid.points}
    for claim in grid.claims:
        assert all(set(point) == {"label"} and point["label"] in known for point in claim.rule.points)


def test_claims_have_ids_of_their_own():
    ids = [claim.id for grid in GRIDS.values() for claim in grid.claims]
    assert len(ids) == len(set(ids))


def test_a_heatmap_puts_our_values_beside_the_papers_rows(monkeypatch):
    paper = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=pd.Index([128, 512, 4096], name="queue"))
    drawn = []
    monkeypatch.setattr(plots.sns, "heatmap", lambda table, **_: drawn.append(table))
    plots.matrix(paper.loc[[4096]] * 10, paper, "ours")
    ours, theirs = drawn
    assert ours.index.equals(theirs.index) and ours["a"].dropna().to_dict() == {4096: 30.0}
    plt.close("all")


def test_a_point_of_the_queue_says_distance_and_what_was_scored(study, capsys):
    widgets.queue_point("quick", decay=0.75, queue=256, batch=64)
    assert "distance 8.00 steps; no runs at profile quick" in capsys.readouterr().out  # 4 + 4
    assert plt.gcf().axes[0].get_title("left") == "K = 256, batch 64"
    plt.close("all")


def test_without_a_server_the_default_point_alone_is_shown(study, capsys, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(widgets.ipywidgets, "interact", None)
    widgets.move_queue("quick")
    assert "distance 14.67 steps" in capsys.readouterr().out
    plt.close("all")
