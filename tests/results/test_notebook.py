"""What every section notebook calls: sections with own numbers, answers, Try it."""

import pytest
from made_up import EMA, SCORES, write_section

from mocose_study.config import InputError
from mocose_study.results import ledger, tables
from mocose_study.results.notebook import answer, open_section, source
from mocose_study.results.opened import Opened
from mocose_study.sections import FUNCTIONS

OPENED = "mocose_study.results.opened"


def test_a_section_without_runs_says_so_and_shows_nothing(study, capsys):
    opened = open_section("ema", "tiny", [0], {}, False)
    told = capsys.readouterr()[0]
    assert "0 of 7 runs at profile tiny; run_missing = True makes" in told
    tables = opened.table(), opened.by_task(), opened.staleness(), opened.choice()
    assert all(table.empty for table in tables)
    open_section("ema", "tiny", [0])  # by which nobody can make them
    assert capsys.readouterr()[0] == "ema: 0 of 7 runs at profile tiny.\n"
    assert opened.curves() is opened.matrix() is opened.spectra() is None
    assert "no runs" in opened.verdicts().data
    assert "gives no verdicts" in open_section("ema", "quick").verdicts().data
    assert open_section("to_code", "quick").profile == "tiny"  # quick leaves it out
    assert open_section("to_code", "quick", changes={"lr": 1e-4}).profile == "quick"


def test_some_runs_make_table_figure_and_verdicts(study):
    write_section()
    opened = open_section("ema", "tiny", [0, 1, 2])
    table = opened.table()
    assert list(table.index) == list(SCORES)
    assert table.loc["0.85", ["mean", "the paper"]].tolist() == ["64.00", "76.49"]
    assert opened.figure() and opened.curves()
    own = {path.name for path in (study / "runs" / "tiny" / "figures").iterdir()}
    stems = ("04_ema", "04_ema_score_curves")
    assert own == {stem + end for stem in stems for end in (".svg", ".csv")}
    part = open_section("ema", decays=[0.85])  # of the study's points
    assert part.figure() and part.figure(stem="04_part")
    drawn = [path.name for path in (study / "figures" / "tiny").iterdir()]
    assert sorted(drawn) == ["04_part.csv", "04_part.svg"]
    twice = open_section("ema", "tiny", [0, 0, 1]).runs["seed"]
    assert [*twice] == [0] * 3 + [1] * 3
    assert "3 of 5 seeds" in opened.verdicts().data


MANY = {"corpus_size": "many"}
WRONG = [
    ({"name": "emma"}, "there is no section 'emma'; choose one of"),
    ({"name": "ema", "profile": "huge"}, "there is no profile 'huge'"),
    ({"name": "ema", "decay": [0.5]}, "'decay'; choose one of decays"),
    ({"name": "ema", "changes": {"stepz": 1}}, "did you mean 'steps'"),
    ({"name": "ema", "seeds": 3}, r"seeds = 3 is not possible; give None, or \[0"),
    ({"name": "ema", "seeds": ["0"]}, "seeds = "),
    ({"name": "ema", "run_missing": "false"}, "run_missing = 'false' is neither"),
    ({"name": "ema", "changes": {"ema_decay": 0.9}}, "points of ema set ema_decay"),
    ({"name": "ema", "changes": {"seed": 5}}, "name seeds = .5. instead"),
    ({"name": "ema", "profile": ["quick"]}, r"there is no profile \['quick'\]"),
    ({"name": "ema", "changes": {1: 2}}, "Config has no field 1"),
    ({"name": "ema", "profile": "quick", "changes": MANY}, "corpus_size = 'many' is"),
    ({"name": "ema", "changes": "lr"}, "'lr' has no settings; give them as"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG)
def test_wrong_parameters_are_one_sentence(study, arguments, sentence):
    with pytest.raises(InputError, match=sentence) as told:
        open_section(**arguments)
    assert "\n" not in str(told.value)


def test_runs_of_the_study_and_ones_own_go_to_different_folders(study, monkeypatch):
    made = {}

    def run_grid(configs, profile, folder=None, **_):
        made[folder] = [config.ema_decay for config in configs]

    monkeypatch.setattr(f"{OPENED}.run_grid", run_grid)
    open_section("ema", "quick", decays=[0.5, 0.6], run_missing=True)
    own = tables.own_folder("quick")
    assert made == {None: [0.5], own: [(0.75, 0.95), 0.6]}
    for others in ({"changes": {"steps": 7}}, {"seeds": [77]}):
        open_section("ema", "quick", run_missing=True, **others)
        assert made == {None: [], own: [0.5, 0.85]}


def test_own_numbers_stand_among_the_papers(study):
    """The paper's points are drawn without runs of ours, too."""
    own = FUNCTIONS["ema"](decays=[0.6, 0.8])
    write_section(own, {"0.6": 40.0, "0.8": 44.0}, range(5))
    opened = open_section("ema", decays=[0.6, 0.8])
    labels, paper, reference = opened.rows_of_a_figure(["0.6", "0.8"], "0.85")
    assert labels == ["0.5", "0.6", "0.8", "0.85", "0.9", "0.95", "0.99"]
    assert reference == "0.8" and set(paper) == set(labels) - {"0.6"}
    (axes,) = opened.figure(reference="0.85").axes
    assert [text.get_text() for text in axes.get_yticklabels()] == labels


def test_an_answer_has_numbers_of_the_runs_and_warns_of_another_verdict(study):
    sentence = "It is {effect} better ({low} to {high}; n = {n}; the paper {paper})."
    asked = ("mocose-ema-not-099", "supported", sentence)
    assert "the runs now say *no runs*" in answer("ema", asked).data
    write_section(EMA, {"0.85": 64.0, "0.99": 60.0}, range(5))
    told = answer("ema", asked).data
    assert told == "It is 4.0 better (4.0 to 4.0; n = 5; the paper 1.4)."
    write_section(EMA, {"0.85": 56.0}, range(5))
    told = answer("ema", asked).data
    assert told.startswith("It is -4.0 better")
    assert "says *supported*, the runs now say *contradicted*" in told
    with pytest.raises(InputError, match="no claim 'x'"):
        answer("ema", ("x", "open", ""))


def test_the_source_is_the_librarys():
    assert source(ledger.counted, Opened.missing).data.count("```python\ndef ") == 2


def test_one_more_point_is_trained_and_drawn(study, monkeypatch, capsys):
    monkeypatch.setattr(f"{OPENED}.TRIED", "smoke")
    write_section()
    opened = open_section("ema", "tiny", [0, 1, 2])
    figure = opened.try_it({"ema_decay": 0.6})
    told = capsys.readouterr().out
    assert "ema_decay 0.6: " in told and "(profile smoke)" in told
    rows = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert rows[0] == "0.5" and rows[-1] == "yours: ema_decay 0.6"
    assert set(SCORES) < set(rows)
    assert len(list((study / "runs" / "smoke").glob("*.json"))) == 2
    assert not (study / "data" / "runs" / "smoke").exists()
    assert opened.try_it({}) is None
    for wrong, said in (
        ({"ema_decay": "slow"}, "ema_decay = 'slow'"),
        (0.7, "0.7 has"),
    ):
        with pytest.raises(InputError, match=said):
            opened.try_it(wrong)
    opened.try_it({"benchmark": "sample", "ema_decay": 0.6})  # the same for both
    assert capsys.readouterr().out.count("(profile smoke)") == 1
