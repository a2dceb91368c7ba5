"""The ledger: complete, computed, and true to the papers' signs."""

from dataclasses import replace

import pandas as pd
import pytest

from mocose_study.claims import record
from mocose_study.claims.rules import Better, Equivalent
from mocose_study.claims.verdicts import WORDS, Claim
from mocose_study.cli.study import Claims
from mocose_study.results import ledger, plots_claims
from mocose_study.sections import GRIDS
from mocose_study.sections.claims import statements
from mocose_study.sections.grid import Grid, Point

WORSE, LEVEL = "mocose-augment-typos", "mocose-transfer-on-par-simcse"
OF_PAPERS = {claim.id: claim for grid in GRIDS.values() for claim in grid.claims}
CLAIMS = (
    replace(OF_PAPERS[WORSE], text="Typos harm.", rule=Better("a", "b"), metric="sts_avg"),
    replace(OF_PAPERS[LEVEL], rule=Equivalent("a", "b", 2.0), metric="sts_avg"),
    Claim("ours", "this study", "c has runs & more", Better("a", "c")),
)


@pytest.fixture
def runs(monkeypatch):
    """Two claims of the papers and one of ours over runs made up on the spot."""
    points = tuple(Point(label, {"seed": 0}) for label in ("a", "b", "c"))
    made = pd.DataFrame(
        [
            {"label": label, "seed": seed, "sts_avg": score + spread * seed, "rules": "link"}
            for label, score, spread in (("a", 61.0, 0.01), ("b", 60.0, 0.02))
            for seed in range(5)
        ]
    )
    monkeypatch.setattr(ledger, "GRIDS", {"x": Grid("?", points, claims=CLAIMS, notebook="n")})
    show_only(monkeypatch, made)
    return made


def show_only(monkeypatch, made: pd.DataFrame, **changes) -> None:
    """The ledger's one section has these runs, and `changes` of its Grid."""

    def table_of(grid, profile, seeds=None):
        return made[made["seed"].isin(made["seed"] if seeds is None else seeds)].assign(
            profile=profile
        )

    monkeypatch.setattr(ledger, "table_of", table_of)
    monkeypatch.setattr(ledger, "GRIDS", {"x": replace(ledger.GRIDS["x"], **changes)})


def test_verdicts_come_from_the_rules_and_stand_beside_the_papers_effect(runs):
    table = ledger.judged("tiny").set_index("id")
    assert table["verdict"].tolist() == ["supported", "supported", "no runs"]
    assert table.loc[WORSE, "effect"] == pytest.approx(0.98)
    assert table.loc[WORSE, "reported"] == pytest.approx(54.44)
    assert table["place"].tolist() == ["MoCoSE Table 5", "MoCoSE Table 2", "this study"]
    assert table["notebook"].unique().tolist() == ["n"]
    assert set(ledger.judged("quick")["verdict"]) == {"no runs"}  # which has one seed


def test_what_other_terms_would_change(runs, monkeypatch):
    """a leads by 4 points at seeds 0 to 4, by -1 or 5 at seeds 5 to 9, and lies behind at the end."""
    first = runs.assign(sts_avg=runs["sts_avg"] + 3 * runs["label"].eq("a"))
    lead = 2 + 6 * runs["seed"].mod(2).sub(0.5)
    later = runs.assign(seed=runs["seed"] + 5, sts_avg=60 + lead * runs["label"].eq("a"))
    made = pd.concat([first, later]).assign(sts_last=lambda table: -table["sts_avg"])
    show_only(monkeypatch, made, seeds=10)
    table = ledger.on_other_terms("tiny")
    assert table.loc[WORSE].tolist()[1:] == [
        "supported",
        "not supported",  # at the last step
        "not supported",  # half of the paper's 54 points
        "inconclusive",  # by seeds 5 to 9
    ]
    show_only(monkeypatch, made, own_seeds=(5, 6, 7, 8, 9, 0, 1, 2, 3, 4))  # 0 to 4 came later
    assert ledger.on_other_terms("tiny").loc[WORSE, "by the later seeds"] == ""
    wide = first.assign(sts_avg=60 + 100 * lead * runs["label"].eq("a"), sts_last=-first["sts_avg"])
    show_only(monkeypatch, wide)  # not testable here, so that it has no verdict to change
    assert WORSE not in ledger.on_other_terms("tiny").index
    show_only(monkeypatch, runs.assign(sts_last=runs["sts_avg"]), seeds=7)  # two are added: too few
    assert ledger.on_other_terms("tiny").loc[WORSE].tolist()[2:] == ["", "not supported", ""]


def test_profiles_stand_side_by_side(runs, monkeypatch, tmp_path):
    """tiny and mini have run files here; quick has too few seeds, and base has no runs."""
    monkeypatch.setattr(ledger, "study_folder", lambda: tmp_path)
    for profile in ("quick", "tiny", "mini"):
        (tmp_path / "data" / "runs" / profile).mkdir(parents=True)
        (tmp_path / "data" / "runs" / profile / "a-run.json").touch()
    table = ledger.by_profile()
    assert list(table.columns.unique(0)) == ["tiny", "mini"]
    assert list(table.index) == [WORSE, LEVEL]  # the third claim has no runs
    for profile in ("tiny", "mini"):
        assert table.loc[WORSE, profile].tolist() == ["supported", pytest.approx(0.98)]


def test_the_family_is_all_claims_of_a_paper(runs, monkeypatch):
    """p of 0.01, 0.04 and 0.02; what is not testable counts as 1: 3 x 0.01 and 1.5 x 0.04."""
    made = pd.DataFrame(
        {
            "source": ["MoCoSE Table 1"] * 3 + ["SimCSE Table 1"],
            "p": [0.01, 0.04, 0.02, 0.04],
            "verdict": ["supported", "supported", "not testable here", "supported"],
        }
    )
    monkeypatch.setattr(ledger, "section", lambda grid, profile: made.assign(paper=1.0))
    table = ledger.judged("tiny")
    assert table["p_bh"].tolist() == pytest.approx([0.03, 0.06, 1.0, 0.04])
    chance = ledger.by_chance(table)
    assert chance.loc["MoCoSE"].tolist() == pytest.approx([3, 3, 2, 1, 0.05, 0.15])


@pytest.mark.parametrize(
    ("source", "paper", "place"),
    [
        ("MoCoSE Table 6.a, section 5.4", "MoCoSE", "MoCoSE Table 6.a"),
        ("MoCoSE (anonymous) Table 8", "MoCoSE (anonymous)", "MoCoSE (anonymous) Table 8"),
        ("SimCSE appendix D, Table D.1", "SimCSE", "SimCSE Table D.1"),
        ("MoCoSE section 5.7, Figure 4", "MoCoSE", "MoCoSE, figures and text"),
        ("published code", "published code", "published code"),
    ],
)
def test_every_claim_has_its_paper_and_place(source, paper, place):
    assert (ledger.paper_of(source), ledger.place_of(source)) == (paper, place)


def test_the_summary_fits_one_screen_and_counts_every_claim():
    claims = [c for grid in GRIDS.values() for c in grid.claims]
    table = pd.DataFrame({"place": [ledger.place_of(c.source) for c in claims]})
    counts = ledger.summary(table.assign(verdict="no runs"))
    assert counts.to_numpy().sum() == len(claims) and len(counts) <= 36
    assert tuple(counts) == WORDS
    assert plots_claims.counts(counts).get_size_inches()[1] < 9


def test_each_claim_is_one_line_with_word_effect_paper_and_link(runs):
    text = ledger.listed(ledger.judged("tiny")).data
    line = next(part for part in text.split("<tr>") if WORSE in part)
    for part in ("supported *", "<td>0.98</td>", "<td>54.44</td>", 'href="n.ipynb#Verdict:-x"'):
        assert part in line
    assert "c has runs &amp; more" in text and text.count("<tr>") == 1 + 3 + 3


def test_the_command_records_rules_and_names_young_ones(runs, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("MOCOSE_STUDY", str(tmp_path))
    Claims(profile="tiny").main()
    assert "MoCoSE Table 5" in capsys.readouterr().out
    Claims(profile="tiny", write=True).main()
    assert capsys.readouterr().out == "3 rules put on record\n"
    with pytest.raises(SystemExit):
        Claims(profile="tiny", check=True).main()
    assert f"{WORSE}: 10 of its 10 runs are older" in capsys.readouterr().out
    runs["rules"] = record.rules_on_record()
    Claims(profile="tiny", check=True).main()
    assert capsys.readouterr().out == "every rule is older\n"


def test_every_statement_is_either_ruled_or_listed_with_a_reason():
    ruled = {claim.id for grid in GRIDS.values() for claim in grid.claims}
    listed = ledger.unjudged()
    assert set(statements().index) - ruled == set(listed.index)
    assert listed["why"].str.len().min() > 0 and set(ledger.reasons().index) == set(listed.index)


def test_the_seeds_spread_is_the_median_of_points_that_draw(runs):
    # steps of 0.01 and of 0.02 over five seeds: 0.01 x sqrt(2.5) and twice that
    assert ledger.spread_of_seeds("tiny") == pytest.approx(0.015 * 2.5**0.5)
    runs.drop(runs.index, inplace=True)
    assert ledger.spread_of_seeds("tiny") != ledger.spread_of_seeds("tiny")  # NaN


def test_rules_of_the_committed_sections_are_on_record():
    """Whoever changes a rule puts it on record with `mocose claims --write`, before the runs."""
    newest = {line["id"]: line["digest"] for line in record.on_record()}
    assert {id: newest.get(id) for id in ledger.digests()} == ledger.digests()
