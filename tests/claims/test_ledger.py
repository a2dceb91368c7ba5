"""The ledger: complete, computed, and true to the papers' signs."""

import pandas as pd
import pytest

from mocose_study.results import ledger
from mocose_study.claims.verdicts import Claim
from mocose_study.sections.grid import Grid, Point, beats, level, statements
from mocose_study.sections import GRIDS

WORSE, LEVEL = "mocose-augment-typos", "mocose-transfer-on-par-simcse"


@pytest.fixture
def judged(monkeypatch):
    """Two claims of the papers and one of ours over runs made up on the spot."""
    points = tuple(Point(label, {"seed": 0}) for label in ("a", "b", "c"))
    row = statements().loc
    claims = (
        Claim(WORSE, "s", row[WORSE]["statement"], beats("a", "b")),
        Claim(LEVEL, "s", row[LEVEL]["statement"], level("a", "b", 2.0)),
        Claim("ours", "s", "c has runs", beats("a", "c")),
    )
    runs = pd.DataFrame([{"label": label, "seed": seed, "sts_avg": score + 0.01 * seed}
                         for label, score in (("a", 61.0), ("b", 60.0)) for seed in range(5)])  # fmt: skip
    monkeypatch.setattr(ledger, "GRIDS", {"x": Grid("?", points, claims=claims, notebook="n")})
    monkeypatch.setattr(ledger, "table_of", lambda grid, profile: runs)
    return ledger.judged("tiny").set_index("id")


def test_verdicts_come_from_the_rules(judged):
    assert judged["verdict"].tolist() == ["supported", "supported", "no runs"]
    assert judged.loc[WORSE, "effect"] == pytest.approx(1.0)
    assert judged["notebook"].unique().tolist() == ["n"]


def test_the_papers_effect_counts_in_the_direction_of_the_claim(judged):
    printed = pd.to_numeric(statements()["paper_effect"], errors="coerce")
    assert printed[WORSE] < 0 and judged.loc[WORSE, "paper"] == -printed[WORSE]
    assert judged.loc[LEVEL, "paper"] == printed[LEVEL] < 0  # no direction: as printed
    assert pd.isna(judged.loc["ours", "paper"])


def test_only_judged_averages_are_drawn(judged):
    assert ledger.in_points(judged.reset_index())["point"].tolist() == [WORSE, LEVEL]


def test_every_statement_is_either_ruled_or_listed_with_a_reason():
    ruled = {claim.id for grid in GRIDS.values() for claim in grid.claims}
    listed = ledger.unjudged()
    assert set(statements().index) - ruled == set(listed["id"])
    assert listed["why"].str.len().min() > 0
    large = listed[listed["id"] == "mocose-large-average"]
    assert large["why"].item().startswith("needs another encoder")


def test_links_lead_to_the_notebook(judged):
    table = judged.reset_index()[["id", "notebook"]]
    assert '<a href="n.ipynb">n</a>' in ledger.linked(table).data
