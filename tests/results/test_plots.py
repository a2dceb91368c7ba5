"""Figures show every seed, the paper's differences and a claim's threshold, and cover none of it."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.markers import CARETLEFT, CARETRIGHT

from mocose_study.claims.rules import Better, Equivalent
from mocose_study.results import explain, plots, plots_claims, widgets
from mocose_study.runs import measure
from mocose_study.sections.grid import TOO_HIGH

SCORES = {
    "0.5": [60.0, 61.0, 62.0],
    "0.85": [63.0, 64.0, 65.0],
    "0.7": [50.0, 50.0, 50.0],
}
RUNS = pd.DataFrame(
    {"label": label, "seed": seed, "sts_avg": score}
    for label, scores in SCORES.items()
    for seed, score in enumerate(scores)
)
PAPER = {"0.5": 75.76, "0.85": 76.49}
LABELS = list(SCORES)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def marks(figure, mark: str | int) -> list[tuple]:
    """(x, y) of every point that has this mark."""
    found = [
        line.get_xydata() for line in figure.axes[0].lines if line.get_marker() == mark
    ]
    return (
        [tuple(map(float, point)) for point in np.concatenate(found)] if found else []
    )


def test_ours_and_the_papers_differences_share_one_axis():
    figure = plots.beside_paper(RUNS, LABELS, PAPER, "sts_avg", "decay")
    assert len(figure.axes) == 1
    ours = [x for x, y in marks(figure, "o")]  # seeds, then their mean
    assert ours == [-3, -3, -3, -3, 0, 0, -13, -14, -15, -14]  # 0: the reference itself
    assert marks(figure, "D") == [(pytest.approx(75.76 - 76.49), 0), (0, 1)]
    assert "“0.85”\n(64.0 here, 76.5 in the paper)" in figure.axes[0].get_xlabel()


def test_the_legend_has_room_in_the_figure():
    claims = [SimpleNamespace(rule=Better("0.85", "0.5", 2.0), metric="sts_avg")]
    figure = plots.beside_paper(RUNS, LABELS, PAPER, "sts_avg", "decay", claims=claims)
    figure.canvas.draw()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 3
    low, high = legend.get_window_extent().intervalx
    assert figure.bbox.x0 <= low < high <= figure.bbox.x1


def test_thresholds_of_claims_are_drawn_where_the_reference_has_a_part():
    def claim(rule, metric="sts_avg"):
        return SimpleNamespace(rule=rule, metric=metric)

    a, b, c = "0.85", "0.5", "0.7"
    claims = [
        claim(Better(a, b, 15.0)),  # 0.5 must lie 15 points below 0.85
        claim(Equivalent(c, a, 0.5)),
        claim(Better(a, c)),  # an edge at zero is the axis itself
        claim(Better(a, b, 9.0), "sts_dev"),  # of another metric
        claim(Better(b, c, 7.0)),  # 0.85 has no part in it
        claim(Better("gone", a, 3.0)),  # has no row
    ]
    figure = plots.beside_paper(RUNS, LABELS, PAPER, "sts_avg", "decay", claims=claims)
    # an arrow shows on which side of it the claim holds
    assert marks(figure, CARETLEFT) == [(-15, 0), (0.5, 2)]
    assert marks(figure, CARETRIGHT) == [(-0.5, 2)]


def test_what_is_there_to_do_harm_is_a_number_and_does_not_stretch_the_axis():
    labels = ["0.5", "0.85", TOO_HIGH]
    runs = pd.concat([RUNS, RUNS.head(3).assign(label=TOO_HIGH, sts_avg=5.0)])
    gap = 5.0 - RUNS[RUNS["label"] == "0.85"]["sts_avg"].head(3).mean()
    for figure, told in (
        (plots.scores(runs, labels, "sts_avg", "decay"), "◂ 5.0"),
        (plots.beside_paper(runs, labels, PAPER, "sts_avg", "decay"), f"◂ {gap:.1f}"),
    ):
        (ax,) = figure.axes
        assert [tick.get_text() for tick in ax.get_yticklabels()] == labels
        assert [text.get_text() for text in ax.texts] == [told]
        assert min(x for x, y in marks(figure, "o")) > -10


def test_the_gains_of_a_pre_training_have_a_panel_an_encoder():
    rows = [("a", 4, 1.0), ("a", 150, 3.0), ("b", 4, -2.0), ("b", 100, 0.0)]
    gains = pd.DataFrame(rows, columns=["encoder", "tokens", "gain"]).assign(
        system="SimCSE"
    )
    figure = plots.pretraining(gains)
    assert [ax.get_title("left") for ax in figure.axes] == ["a", "b"]
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == [
        "4",
        "100",
        "150",
    ]
    assert figure.axes[1].lines[0].get_xydata().tolist() == [[4, -2], [100, 0]]


def test_a_figure_is_the_same_bytes_with_its_table_beside_it(study):
    table = pd.DataFrame({"point": LABELS, "mean": [61.0, 64.0, 50.0]})
    drawn = [plots.scores(RUNS, LABELS, "sts_avg", "decay") for _ in range(2)]
    first, second = (
        plots.save(figure, table, "tiny", "x").read_bytes() for figure in drawn
    )
    assert first == second
    read = pd.read_csv(study / "figures" / "tiny" / "x.csv", dtype={"point": str})
    pd.testing.assert_frame_equal(read, table)


def test_curves_are_the_mean_of_the_seeds_at_each_step():
    history = pd.DataFrame(
        {
            "label": "MoCoSE",
            "seed": seed,
            "step": step,
            "alignment": 0.1 * step,
            "uniformity": -step - seed,
        }
        for seed in (0, 1, 2)
        for step in (2, 4)
    )
    ax = plots.curves(history, "alignment", "a", "uniformity", "u").axes[0]
    mean = next(line for line in ax.lines if line.get_label() == "MoCoSE").get_xydata()
    np.testing.assert_allclose(mean, [[-3, 0.2], [-5, 0.4]])
    assert len(plots.curves(history, "uniformity", "u").axes[0].lines) == 3 + 1 + 2


def test_a_heatmap_puts_our_values_beside_the_papers_rows(monkeypatch):
    paper = pd.DataFrame(
        {"a": [1.0, 2.0, 3.0]}, index=pd.Index([128, 512, 4096], name="queue")
    )
    drawn = []
    monkeypatch.setattr(
        plots.sns, "heatmap", lambda _, annot, **more: drawn.append((annot, more))
    )
    plots.matrix(paper.loc[[4096]] * 10, paper, "ours")
    (ours, left), (theirs, right) = drawn
    assert ours.index.equals(theirs.index) and ours["a"].dropna().to_dict() == {
        4096: 30.0
    }
    assert left["vmax"] == right["vmax"] == 1  # as many points, as strong a colour


def test_best_seeds_compare_each_measure_with_the_first_systems():
    labels, top, maximum = (
        ["0.5", "0.85"],
        {"0.5": 70.0, "0.85": 71.0},
        {"0.5": 72.0, "0.85": 74.0},
    )
    figure = plots_claims.best_seeds(RUNS, labels, top, maximum)
    assert [x for x, _ in marks(figure, "^")] == [3, 1]
    assert [x for x, _ in marks(figure, "*")] == [3, 2]


def test_a_moved_control_displays_its_figure_and_closes_it(study, capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(
        widgets, "display", lambda figure: shown.append(figure.axes[0].images)
    )
    widgets.queue_point("quick", decay=0.75, queue=256, batch=64)
    assert (
        "distance 8.00 steps; no runs of 400 steps at profile quick"
        in capsys.readouterr().out
    )  # 4 + 4
    assert len(shown) == 1 and shown[0] and not plt.get_fignums()


def test_a_grade_of_cosines_is_a_row_with_its_median():
    table = pd.DataFrame(
        [("SimCSE", g, *np.linspace(0.1 * g, 0.1 * g + 0.4, 5)) for g in range(1, 6)],
        columns=["label", "grade", *measure.QUANTILES],
    )
    figure = explain.graded_cosines(table)
    medians = marks(figure, "o")
    assert medians == [
        (pytest.approx(0.1 * grade + 0.2), grade) for grade in range(1, 6)
    ]
    assert figure.axes[0].get_title("left") == "SimCSE"
