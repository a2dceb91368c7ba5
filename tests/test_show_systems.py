"""Tables and figures of the sections with many systems and several grids, from made-up runs."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from mocose_study import systems as methods
from mocose_study.results import plots_systems, show
from mocose_study.config import InputError
from mocose_study.sections.grid import Grid, Point
from mocose_study.systems import whitening
from mocose_study.runs.run import run_file
from mocose_study.sections import GRIDS

ROOT = Path(__file__).resolve().parents[1]
GRID = Grid(
    question="Which?", paper="mocose_table1", paper_by=("system", "encoder"),
    points=(
        Point("late", {"method": "untrained"}, tier=2),
        Point("SimCSE", {"method": "simcse"}, paper="simcse, bert-base-uncased"),
        Point("MoCoSE", {}, paper="mocose, bert-base-uncased"),
    ),
)  # fmt: skip
EMPTY = Grid(question="And?", points=(Point("CT", {"method": "ct"}, tier=2),))
STEPS = (2, 4)


@pytest.fixture
def runs(study):
    """Three seeds of every point at profile tiny."""
    (study / "data").mkdir(exist_ok=True)
    (study / "data" / "paper").symlink_to(ROOT / "data" / "paper")
    for place, (_, config) in enumerate(GRID.runs("tiny", range(3))):
        path = run_file(config, "tiny")
        history = [{"step": s, "alignment": 0.1 * s, "uniformity": -s - place} for s in STEPS]
        record = {
            "id": path.stem, "config": asdict(config), "seconds": 1.0, "spectrum": [1.0],
            "metrics": {"sts_avg": 60.0 + place, "STS12 test all": 50.0, "STS13 test all": 52.0},
            "progress": {"best_step": 2, "history": history},
        }  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    yield show.finished(GRID, "tiny", range(3))
    plt.close("all")








def test_the_figure_of_systems_has_every_seed_and_the_papers_numbers(runs):
    labels = show.labels_of(GRID, runs)
    figure = plots_systems.systems(runs, labels, show.paper_values(GRID))
    ours, theirs = figure.axes
    seeds = np.concatenate([x.get_xdata() for x in ours.lines if x.get_marker() == "o"])
    assert sorted(seeds) == sorted(runs["sts_avg"])
    assert theirs.lines[0].get_xydata().tolist() == [[76.25, 1], [77.27, 2]]
    assert len(plots_systems.systems(runs, labels, {}).axes) == 1


def test_a_trajectory_goes_from_the_first_step_to_the_last(runs):
    curves = show.training_curves(GRID, "tiny", range(3))
    ax = plots_systems.trajectory(curves, ["MoCoSE"]).axes[0]
    mean = next(line for line in ax.lines if line.get_label() == "MoCoSE").get_xydata()
    np.testing.assert_allclose(mean[:, 1], [0.2, 0.4])
    of_label = curves[curves["label"] == "MoCoSE"].groupby("step")["uniformity"].mean()
    np.testing.assert_allclose(mean[:, 0], of_label)


def test_the_figure_of_best_seeds_marks_top_three_and_maximum(runs):
    figure = plots_systems.best_seeds(runs, ["MoCoSE"], {"MoCoSE": 76.9}, {"MoCoSE": 77.4})
    marks = [{x.get_marker(): x.get_ydata().tolist() for x in ax.lines} for ax in figure.axes]
    scores = runs.loc[runs["label"] == "MoCoSE", "sts_avg"]
    assert marks[0]["^"] == [scores.mean()] and marks[0]["*"] == [scores.max()]
    assert marks[1]["^"] == [76.9] and marks[1]["*"] == [77.4]


def test_every_system_of_the_table_has_a_row_and_every_method_an_input():
    used = {point.fields.get("method", "mocose") for point in GRIDS["main"].points}
    assert used == set(methods.METHODS) - {"simcse_reference"}
    assert methods.INPUTS.keys() == methods.METHODS.keys()


def test_every_system_stands_once_in_either_benchmark():
    table = pd.DataFrame({"real": [60.0, 50.0], "generated": [70.0, 40.0]}, index=["a", "b"])
    ax = plots_systems.benchmarks(table).axes[0]
    assert [list(line.get_xdata()) for line in ax.lines] == [[60, 50], [70, 40]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
