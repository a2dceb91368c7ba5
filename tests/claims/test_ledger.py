"""The ledger: verdicts from runs, the age of rules by git, and what has no range."""

from dataclasses import replace

import pandas as pd
import pytest
from made_up import EMA, write, write_section

from mocose_study.config import PROFILES, InputError
from mocose_study.results import ledger
from mocose_study.sections import SECTIONS, claims

DECAYS = ("0.5", "0.8", "0.85", "0.9", "0.95", "0.99")
PACE = SECTIONS["pace"]
HARM = {"0.85, 0.001": 40.0, "0, 0.001": 10.0}  # the known harm, which gives range


@pytest.fixture
def one_seed(monkeypatch):
    """Profile tiny has one seed a point, so that all sections are read in seconds."""
    monkeypatch.setitem(PROFILES, "tiny", replace(PROFILES["tiny"], seeds=1))


def ledger_of(section=EMA, profile="tiny") -> pd.DataFrame:
    return ledger.of_section(section, profile).set_index("id")


def test_a_row_has_the_verdict_its_figures_and_the_papers_effect(study):
    scores = dict.fromkeys(DECAYS, 38.0) | {"0.85": 40.0, "0.5": 30.0}
    write_section(EMA, scores, range(5))
    write_section(PACE, HARM, range(5))
    table = ledger_of()
    best = table.loc["mocose-ema-best-085"]
    assert (best["verdict"], best["range"]) == ("supported", "")
    assert best["rule"] == "no b ahead by 0.5"
    assert (best["effect"], best["paper"]) == pytest.approx((2.0, 0.41))
    assert best["n"] == 5 and best["reason"].startswith("best rival: ")
    assert table.loc["mocose-ema-05-worse", "effect"] == pytest.approx(10)
    assert table.loc["mocose-ema-schedule", "verdict"] == "no runs"
    assert table.loc["mocose-ema-schedule", "reason"] == "no runs of 0.75 → 0.95"
    html = ledger.as_html(table.reset_index(), "x").data
    assert "nan" not in html.lower() and "#999999" not in html
    assert ledger.as_html(table[:0], "x").data == "No claims."
    part = table.reset_index().query("verdict == 'no runs'")  # its rows keep numbers
    assert ledger.as_html(part, "x").data.count("no-runs") == len(part) > 0
    few = ledger.of_section(EMA, "tiny", [0, 1])
    assert set(few["verdict"]) == {"open", "no runs"}


def test_without_range_the_words_are_grey_and_say_why(study):
    write_section(EMA, {"0.85": 40.0, "0.99": 38.0}, range(5))
    assert set(ledger_of()["range"]) == {"the known harm has no runs"}
    write_section(PACE, HARM | {"0, 0.001": 38.0}, range(5))
    assert "is too small here: 0.85" in ledger_of()["range"].iloc[0]
    assert set(ledger_of(PACE)["range"]) == {""}  # which judges the harm itself
    assert "#999999" in ledger.as_html(ledger_of().reset_index(), "x").data


def test_a_section_may_have_a_control_of_its_own(study):
    section = SECTIONS["main_results"]
    scores = {"MoCoSE": 40.0, "SimCSE": 30.0, "untrained [CLS]": 27.0}
    write_section(section, scores, range(5))
    table = ledger_of(section)
    assert set(table["range"]) == {""}
    assert table.loc["mocose-average-77", "verdict"] == "supported"
    assert table.loc["mocose-base-sts13-behind", "verdict"] == "no runs"


def test_all_claims_are_counted_with_runs_or_without(study, one_seed):
    table = ledger.judged("tiny")
    assert len(table) == (claims.rows()["id"] != claims.CONTROL).sum()
    assert set(table["verdict"]) == {"no runs"}
    counts = ledger.counted(table)
    assert list(counts) == ["supported", "contradicted", "open", "no runs"]
    assert counts["no runs"].sum() == len(table) and "MoCoSE" in counts.index


def test_runs_at_the_authors_settings_are_told_apart_from_others(study, one_seed):
    """Runs of a section first; then with a field that the profile should not change."""
    for config in EMA.configs("tiny"):
        write(config)
    assert ledger.unlike_the_authors("tiny").empty
    changed = {**PROFILES["tiny"].fields, "weight_decay": 0.1}
    PROFILES["tiny"] = replace(PROFILES["tiny"], fields=changed)
    write(EMA.config("0.8", "tiny", 0))
    told = ledger.unlike_the_authors("tiny")
    assert told.to_numpy().tolist() == [["ema", "0.8", "weight_decay", "0.1"]]


def test_rules_that_are_younger_than_their_runs_are_named(study, monkeypatch):
    """Runs are of the 2nd. One rule got its margin on the 3rd, another its words."""
    rules = claims.rows()
    young, reworded = rules.index[rules["section"] == "ema"][1:3]
    before, after = rules.copy(), rules.copy()
    before.loc[[young, reworded], ["margin", "claim"]] = (
        ["9", ""],
        [rules["margin"][reworded], "x"],
    )
    texts = (("2026-01-03", after), ("2026-01-01", before))
    texts = [(when, table.to_csv(index=False)) for when, table in texts]
    monkeypatch.setattr(ledger, "versions", lambda _: texts)
    monkeypatch.setattr(ledger, "SECTIONS", {"ema": EMA})
    with pytest.raises(InputError, match="tiny has no runs of both sides"):
        ledger.late("tiny")
    write_section(EMA, {"0.85": 40.0, "0.5": 30.0}, range(5))
    write_section(EMA, {"0.99": 38.0}, range(5))
    name = rules["id"][young]
    late = ledger.late("tiny").reset_index().to_numpy().tolist()
    assert late == [[name, "2026-01-03", 5, 5]]
    declared = rules.assign(mended=rules["id"].eq(name).map({True: "why", False: ""}))
    monkeypatch.setattr(ledger, "rows", lambda: declared)
    assert ledger.late("tiny").empty


def test_a_mended_rule_says_so(study):
    table = ledger_of(SECTIONS["predictor_dim"])["rule"]
    told = table["mocose-predictor-dim-large-no-help"]
    assert told == "|a − b| < 0.5 (mended after its runs: it took harm for no effect)"
