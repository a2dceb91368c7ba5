"""The ledger: complete, computed, and true to the papers' signs."""

import os
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest

from mocose_study import cli
from mocose_study.claims.rules import Better, Equivalent
from mocose_study.claims.verdicts import WORDS, Claim
from mocose_study.cli.study import Claims
from mocose_study.results import ledger, plots_claims
from mocose_study.sections import GRIDS
from mocose_study.sections import claims as sections
from mocose_study.sections.claims import statements
from mocose_study.sections.grid import Grid, Point

WORSE, LEVEL = "mocose-augment-typos", "mocose-transfer-on-par-simcse"
OF_PAPERS = {claim.id: claim for grid in GRIDS.values() for claim in grid.claims}
CLAIMS = (
    replace(
        OF_PAPERS[WORSE], text="Typos harm.", rule=Better("a", "b"), metric="sts_avg"
    ),
    replace(OF_PAPERS[LEVEL], rule=Equivalent("a", "b", 2.0), metric="sts_avg"),
    Claim("ours", "this study", "c has runs & more", Better("a", "c")),
)


@pytest.fixture
def runs(monkeypatch):
    """Two claims of the papers and one of ours over runs made up on the spot."""
    points = tuple(Point(label, {"seed": 0}) for label in ("a", "b", "c"))
    made = pd.DataFrame(
        [
            {"label": label, "seed": seed, "sts_avg": score + spread * seed}
            for label, score, spread in (("a", 61.0, 0.01), ("b", 60.0, 0.02))
            for seed in range(5)
        ]
    )
    monkeypatch.setattr(
        ledger, "GRIDS", {"x": Grid("?", points, claims=CLAIMS, notebook="n")}
    )
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
    later = runs.assign(
        seed=runs["seed"] + 5, sts_avg=60 + lead * runs["label"].eq("a")
    )
    made = pd.concat([first, later]).assign(sts_last=lambda table: -table["sts_avg"])
    show_only(monkeypatch, made, seeds=10)
    table = ledger.on_other_terms("tiny")
    assert table.loc[WORSE].tolist()[1:] == [
        "supported",
        "not supported",  # at the last step
        "not supported",  # half of the paper's 54 points
        "inconclusive",  # by seeds 5 to 9
    ]
    show_only(
        monkeypatch, made, own_seeds=(5, 6, 7, 8, 9, 0, 1, 2, 3, 4)
    )  # 0 to 4 came later
    assert ledger.on_other_terms("tiny").loc[WORSE, "by the later seeds"] == ""
    wide = first.assign(
        sts_avg=60 + 100 * lead * runs["label"].eq("a"), sts_last=-first["sts_avg"]
    )
    show_only(
        monkeypatch, wide
    )  # not testable here, so that it has no verdict to change
    assert WORSE not in ledger.on_other_terms("tiny").index
    show_only(
        monkeypatch, runs.assign(sts_last=runs["sts_avg"]), seeds=7
    )  # two are added: too few
    assert ledger.on_other_terms("tiny").loc[WORSE].tolist()[2:] == [
        "",
        "not supported",
        "",
    ]


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
        (
            "MoCoSE (anonymous) Table 8",
            "MoCoSE (anonymous)",
            "MoCoSE (anonymous) Table 8",
        ),
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
    for part in (
        "supported *",
        "<td>0.98</td>",
        "<td>54.44</td>",
        'href="n.ipynb#Verdict:-x"',
    ):
        assert part in line
    assert "c has runs &amp; more" in text and text.count("<tr>") == 1 + 3 + 3


OLD, MID, NEW = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))


@pytest.fixture
def ruled(monkeypatch, tmp_path):
    """ruled(first, second, control): the days on which these rules of section x were committed."""
    head, path = "section,id,rule,a,b,margin,metric", tmp_path / "claims.csv"
    names = ("first", "second", "control")
    rows = [
        f"x,{name},Better,a,{b},1,sts_avg" for name, b in zip(names, "bca", strict=True)
    ]
    monkeypatch.setattr(sections, "RULES_FILE", path)
    monkeypatch.setattr(ledger, "RULES_FILE", path)

    def commit(*days):
        written = dict.fromkeys(rows, "")
        for day, row in sorted(zip(days, rows, strict=True)):
            written[row] = row
            path.write_text("\n".join([head, *filter(None, written.values())]) + "\n")
            command = "git add . && git commit --quiet --message rule"
            who = {"NAME": "somebody", "EMAIL": "nobody@example.org", "DATE": day}
            who = {
                f"GIT_{x}_{k}": v
                for x in ("AUTHOR", "COMMITTER")
                for k, v in who.items()
            }
            subprocess.run(
                command, shell=True, check=True, cwd=tmp_path, env=os.environ | who
            )
        sections.rows.cache_clear()

    subprocess.run(["git", "init", "--quiet"], check=True, cwd=tmp_path)
    yield commit
    sections.rows.cache_clear()


def check(capsys) -> tuple[int, str]:
    """The exit code of `mocose claims --check`, and what it prints."""
    try:
        Claims(profile="tiny", check=True).main()
    except SystemExit as stop:
        return stop.code, capsys.readouterr().out
    return 0, capsys.readouterr().out


def test_the_command_counts_the_verdicts(runs, capsys):
    Claims(profile="tiny").main()
    assert "MoCoSE Table 5" in capsys.readouterr().out


def test_the_check_names_rules_that_are_younger_than_their_runs(runs, ruled, capsys):
    runs["finished"] = [MID] * 9 + [OLD]  # the last one is of b
    ruled(OLD, OLD, OLD)
    assert check(capsys) == (0, "every rule is older than its runs\n")
    ruled(MID, NEW, OLD)
    assert check(capsys) == (
        1,
        f"first: 1 of its 10 runs are older than its rule, of {MID}\n"
        f"second: 5 of its 5 runs are older than its rule, of {NEW}\n",
    )


def test_a_young_control_makes_its_sections_rules_young(runs, ruled, capsys):
    runs["finished"] = MID
    ruled(OLD, OLD, NEW)
    code, told = check(capsys)
    assert code == 1 and "first: 10 of its 10" in told and "second: 5 of its 5" in told


def test_the_check_needs_git(runs, ruled, monkeypatch, capsys):
    ruled(OLD, OLD, OLD)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["mocose", "claims", "--check"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    told = capsys.readouterr().err
    assert stop.value.code == 2 and told.count("\n") == 1
    assert told.startswith("mocose: git has no history of ")


def test_every_statement_is_either_ruled_or_listed_with_a_reason():
    ruled = {claim.id for grid in GRIDS.values() for claim in grid.claims}
    listed = ledger.unjudged()
    assert set(statements().index) - ruled == set(listed.index)
    assert listed["why"].str.len().min() > 0 and set(ledger.reasons().index) == set(
        listed.index
    )


def test_the_seeds_spread_is_the_median_of_points_that_draw(runs):
    # steps of 0.01 and of 0.02 over five seeds: 0.01 x sqrt(2.5) and twice that
    assert ledger.spread_of_seeds("tiny") == pytest.approx(0.015 * 2.5**0.5)
    runs.drop(runs.index, inplace=True)
    assert ledger.spread_of_seeds("tiny") != ledger.spread_of_seeds("tiny")  # NaN
