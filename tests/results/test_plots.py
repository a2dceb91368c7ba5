"""Figures show each seed, the paper's differences and one's own, from made-up runs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
from made_up import EMA, write, write_section
from made_up import SCORES as MEANS

from mocose_study.results import plots, style
from mocose_study.results.opened import Opened
from mocose_study.sections import SECTIONS

SCORES = {"0.5": [60.0, 61.0, 62.0], "0.85": [63.0, 64.0, 65.0], "0.7": [50.0] * 3}
RUNS = pd.DataFrame(
    {"label": label, "seed": seed, "sts_avg": score, "fixed": False}
    for label, scores in SCORES.items()
    for seed, score in enumerate(scores)
)
PAPER = {"0.5": 75.76, "0.85": 76.49}
LABELS = list(SCORES)


@pytest.fixture
def opened(study) -> Opened:
    """Three seeds of three decays."""
    write_section()
    return Opened(EMA, "tiny", range(3))


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def marks(figure, mark: str) -> list[tuple]:
    """(x, y) of every point that has this mark."""
    lines = [x.get_xydata() for x in figure.axes[0].lines if x.get_marker() == mark]
    return [tuple(map(float, point)) for line in lines for point in line]


def test_ours_the_papers_and_ones_own_differences_share_one_axis():
    figure = plots.beside_paper(RUNS, LABELS, PAPER, "0.85", own={"yours: 0.6": -2.0})
    assert len(figure.axes) == 1
    ours = [x for x, y in marks(figure, "o")]  # seeds, then their mean
    assert ours == [-3, -3, -3, -3, 0, 0, 0, 0, -13, -14, -15, -14]
    assert marks(figure, "D") == [(pytest.approx(75.76 - 76.49), 0), (0, 1)]
    assert marks(figure, "*") == [(-2, 3)]
    rows = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert rows == [*LABELS, "yours: 0.6"]
    assert "“0.85”\n(64.0 here, 76.5 in the paper)" in figure.axes[0].get_xlabel()
    figure.canvas.draw()
    (legend,) = figure.legends
    low, high = legend.get_window_extent().intervalx
    assert figure.bbox.x0 <= low < high <= figure.bbox.x1


def test_a_figure_is_the_same_bytes_with_its_table_beside_it(opened, study):
    opened.figure(stem="x")
    path = study / "runs" / "tiny" / "figures" / "x.svg"
    first = path.read_bytes()
    opened.figure(stem="x")
    assert path.read_bytes() == first
    read = pd.read_csv(path.with_suffix(".csv"), dtype={"point": str})
    assert read[["point", "mean"]].to_numpy().tolist() == [*map(list, MEANS.items())]


def test_a_figure_that_cannot_be_saved_is_shown_all_the_same(opened, study, caplog):
    (study / "runs").write_text("no folder")
    assert opened.figure(stem="y") is not None
    assert "runs/tiny/figures/y is not saved: Not a directory" in caplog.text


def test_curves_are_the_mean_of_the_seeds_at_each_step():
    runs = pd.MultiIndex.from_product([(0, 1, 2), (2, 4)], names=["seed", "step"])
    history = runs.to_frame(index=False).assign(label="MoCoSE")
    history["u"] = -history["step"] - history["seed"]
    history["a"] = history["step"] / 10
    ax = plots.curves(history, "a", "a", "u", "u").axes[0]
    mean = next(line for line in ax.lines if line.get_label() == "MoCoSE").get_xydata()
    np.testing.assert_allclose(mean, [[-3, 0.2], [-5, 0.4]])
    # the seeds, their mean, and its first and last point
    assert len(plots.curves(history, "u", "u").axes[0].lines) == 3 + 1 + 2
    many = pd.concat([history.assign(label=f"point {i}") for i in range(22)])
    figure = plots.curves(many, "a")
    figure.canvas.draw()
    legend = figure.axes[0].get_legend().get_window_extent()
    assert figure.bbox.y0 <= legend.y0 < legend.y1 <= figure.bbox.y1


def test_a_matrix_puts_our_values_beside_the_papers_rows(study, monkeypatch):
    drawn = []
    monkeypatch.setattr(plots.sns, "heatmap", lambda x, **more: drawn.append((x, more)))
    section = SECTIONS["heads"]
    write_section(section, {"1, 2": 40.0, "3, 2": 10.0})
    figure = Opened(section, "tiny", range(3)).matrix(rows="projection")
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == ["ours, profile tiny", "the paper"]
    (left, look), (right, other) = drawn
    ours, paper = look["annot"], other["annot"]
    assert ours.loc["1", "2"] == 40 and ours.isna().sum().sum() == 10
    assert paper.loc["1", "2"] == 76.89 and paper.shape == ours.shape == (4, 3)
    assert look["vmax"] == other["vmax"] >= 1  # as many points, as strong a colour
    medians = [np.nanmedian(colors.to_numpy()) for colors in (left, right)]
    assert medians == pytest.approx([0, 0])


def test_every_run_stands_at_its_traceable_distance(opened):
    ax = opened.over_distance().axes[0]
    places = ax.collections[0].get_offsets()
    assert sorted(places[:, 0].tolist()) == sorted(opened.runs["distance"])
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "the paper's best, 14.67" in told


def test_geometry_and_spectra_show_each_number(opened):
    ax = opened.spectra().axes[0]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[1, 0.5]] * 9
    for seed in range(3):
        shape = {"sts_avg": 60.0, "alignment dev": 0.3, "uniformity dev": -2.0}
        write(EMA.config("0.85", "tiny", seed), metrics=shape)
    places = [line.get_xydata() for line in opened.align_uniform().axes[0].lines]
    assert np.isfinite(places[1]).all() and [*map(len, places)] == [3, 3, 3]


def test_numbers_have_colours_in_an_order_and_names_colours_apart():
    def colours(*labels):
        return [line["color"] for line in style.styles(labels).values()]

    order = list(sns.color_palette("viridis", 2))
    assert colours("0.5", "0.85") == order
    assert colours("SimCSE", "decay 0") == [style.COLOURS["SimCSE"], order[1]]
    assert colours("none", "typos") == list(sns.color_palette("colorblind", 2))
