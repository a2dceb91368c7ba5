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
