"""Figures show each seed, the paper's differences and one's own, from made-up runs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from mocose_study.results import plots

SCORES = {"0.5": [60.0, 61.0, 62.0], "0.85": [63.0, 64.0, 65.0], "0.7": [50.0] * 3}
RUNS = pd.DataFrame(
    {"label": label, "seed": seed, "sts_avg": score, "fixed": False}
    for label, scores in SCORES.items()
    for seed, score in enumerate(scores)
)
PAPER = {"0.5": 75.76, "0.85": 76.49}
LABELS = list(SCORES)


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


def test_a_figure_is_the_same_bytes_with_its_table_beside_it(study):
    table = pd.DataFrame({"mean": [61.0, 64.0, 50.0]}, index=pd.Index(LABELS, name="x"))
    drawn = [plots.scores(RUNS, LABELS, "sts_avg") for _ in range(2)]
    paths = [plots.save(figure, table, "tiny", "x") for figure in drawn]
    first, second = (plots.save(f, table, "tiny", "x").read_bytes() for f in drawn)
    assert first == second and paths[0] == study / "figures" / "tiny" / "x.svg"
    read = pd.read_csv(paths[0].with_suffix(".csv"), dtype={"x": str}, index_col="x")
    pd.testing.assert_frame_equal(read, table)


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


def test_a_matrix_puts_our_values_beside_the_papers_rows(monkeypatch):
    index = pd.Index(["128", "512", "4096"], name="queue")
    paper = pd.DataFrame({"none": [1.0, 2.0, 3.0], "all": [2.0, 2.0, 9.0]}, index=index)
    drawn = []
    monkeypatch.setattr(plots.sns, "heatmap", lambda x, **more: drawn.append((x, more)))
    ours = (paper * 10).where(paper != 9)
    plots.matrix(ours, paper, "ours")
    (left, look), (right, other) = drawn
    assert look["annot"].equals(ours) and other["annot"].equals(paper)
    assert look["vmax"] == other["vmax"] >= 1  # as many points, as strong a colour
    assert np.nanmedian(left.to_numpy()) == np.nanmedian(right.to_numpy()) == 0


def test_every_run_stands_at_its_traceable_distance():
    about = {"ema_decay": 0.85, "queue_size": 512, "batch_size": 64}
    runs = RUNS.assign(distance=[4.0, 8.0, 15.0] * 3, **about)
    ax = plots.over_distance(runs, "sts_avg", "score", best=14.667).axes[0]
    places = ax.collections[0].get_offsets()
    assert sorted(places[:, 0].tolist()) == sorted(runs["distance"])
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "the paper's best, 14.67" in told


def test_verdicts_geometry_and_spectra_show_each_number():
    table = pd.DataFrame({"supported": [2], "open": [0]}, index=["MoCoSE"])
    ax = plots.counts(table).axes[0]
    assert [text.get_text() for text in ax.texts] == ["2", ""]
    shape = {"uniformity dev": -2.0, "alignment dev": 0.3}
    ax = plots.align_uniform(RUNS.assign(**shape), LABELS).axes[0]
    assert [len(line.get_xdata()) for line in ax.lines] == [3, 3, 3]
    ax = plots.spectra({"a": [[1.0, 0.5], [1.0, 0.4]], "b": [[1.0]]}).axes[0]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[1, 0.5], [1, 0.4], [1]]
