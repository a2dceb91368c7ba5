"""Answers and conclusions: sentences with the numbers of made-up runs."""

from dataclasses import replace

import pandas as pd
import pytest
from made_up import GRID, write_all

from mocose_study.config import configure
from mocose_study.results import conclude
from mocose_study.results.tables import table_of
from mocose_study.sections.grid import CONTROL, Grid, Point


def test_a_section_is_answered_with_its_verdicts_and_its_spread(study):
    write_all(seeds=6)
    text = conclude.answer([GRID], "tiny", range(6)).data
    assert text == (
        "**How fast?** Verdicts on its 2 claims: 1 supported, 1 not supported. By average of the "
        "test tasks, the 3 points lie between 50 (0.7) and 64 (0.85)."
    )
    harm = replace(
        GRID, points=(*GRID.points, Point(CONTROL, {"ema_decay": 0.0}, tier=1))
    )
    text = conclude.answer([harm], "tiny", range(6)).data
    assert "the 3 points beside the control lie between 50 (0.7) and 64 (0.85)." in text


def test_a_conclusion_says_what_the_paper_says_what_we_see_how_sure_and_why(study):
    write_all(seeds=6)
    text = conclude.conclusion([GRID], "tiny", range(6)).data
    first, below = text.split("### Section by section")
    assert first.startswith(
        "## What a reader should take away\n\nMoCoSE Table 3, in our words: 0.85"
    )
    assert "0.85 is best. Here this is supported: “0.85” against “0.5”" in first
    assert "All verdicts at tiny: 1 supported, 1 not supported.\n" in first
    assert "*Why it may differ from the paper:*" in first
    assert below.startswith("\n\n**How fast?** MoCoSE Table 3")
    # t(0.975, 5 d.f.) = 2.5706, sd of 63, 64, 65 twice = 0.894: half-width 0.94
    assert (
        "With 6 seeds the highest mean is known to ± 0.94 (95 %). Others that lie as close to it: 0 of 2."
        in text
    )
    steps = configure("tiny").steps
    assert (
        f"(there bert-base-uncased), trained for {steps:,} steps of 64 sentences"
        in text
    )
    both = conclude.conclusion(
        [GRID, replace(GRID, stage="longer")], "tiny", range(6)
    ).data
    assert f"trained for {steps:,} or 1,500 steps of 64 sentences" in both
    both = conclude.conclusion(
        [GRID, replace(GRID, stage="whole")], "tiny", range(6)
    ).data
    assert "the encoder is tiny or tiny-long (there bert-base-uncased)" in both


def test_a_conclusion_leads_with_what_is_decided_and_names_a_second_profile(study):
    write_all(seeds=6)
    write_all("mini", seeds=6)
    unseen = replace(GRID.claims[0], id="unseen", metric="none")
    open_first = replace(GRID, claims=(unseen, *GRID.claims))
    text = conclude.conclusion([open_first], "tiny", range(6), second="mini").data
    assert "Here this is supported: “0.85” against “0.5”" in text
    assert "Verdicts on its 3 claims: 1 supported, 1 not supported, 1 no runs." in text
    assert "All verdicts at mini: 1 supported, 1 not supported, 1 no runs." in text
    assert "*At mini:* **How fast?**" in text


@pytest.mark.parametrize(
    ("means", "words"),
    [
        ([50, 60], "0 of 1"),
        ([50, 59.5, 60], "1 of 2"),
        ([50, 59.3, 59.5, 60], "2 of 3"),
    ],
)
def test_the_points_near_the_best_are_counted_in_plain_words(means, words):
    table = pd.DataFrame(
        {"mean": means, "low": -1.0, "high": 1.0, "n": 5}
    )  # half-width 1
    assert conclude.sure(table).endswith(
        f"(95 %). Others that lie as close to it: {words}."
    )


def test_without_runs_the_sentence_says_so(study):
    for write in (conclude.answer, conclude.conclusion):
        text = write([GRID], "tiny").data
        assert "**How fast?** No runs of this section at profile tiny yet." in text


def test_quick_judges_no_claims(study):
    write_all("quick", seeds=1)
    runs = table_of(GRID, "quick", [0])
    assert conclude.verdict_table(GRID, runs).data == (
        "Profile quick judges no claims: it has fewer than 5 seeds."
    )
    text = conclude.conclusion([GRID], "quick", [0]).data
    assert (
        "judges no claims" in text
        and "The highest one has no interval" in text
        and "nan" not in text
    )


def test_the_table_of_verdicts_has_no_nan(study):
    empty = conclude.verdict_table(GRID, table_of(GRID, "tiny"))
    assert empty.data == "No runs of this section yet."
    write_all(seeds=6)
    found = conclude.verdict_table(GRID, table_of(GRID, "tiny", range(6)))
    assert found["verdict"].tolist() == ["supported", "not supported"]
    assert found["paper"].tolist() == ["", ""] and "NaN" not in found.to_html()


def test_a_control_is_no_part_of_the_spread(study):
    grid = Grid("?", (*GRID.points, Point(CONTROL, {"ema_decay": 0.1})))
    write_all()
    runs = table_of(grid, "tiny", range(3))
    harmed = runs.head(1).assign(label=CONTROL, sts_avg=1.0)
    metric, means = conclude.means_of(grid, runs.merge(harmed, how="outer"))
    assert metric == "sts_avg" and list(means["label"]) == ["0.7", "0.5", "0.85"]
