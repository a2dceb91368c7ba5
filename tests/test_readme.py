"""README and its sisters: true to the code and the runs, short, and run as printed."""

import re
import shlex

import pytest
from made_up import EMA, write_section
from texts import ROOT

from mocose_study import cli
from mocose_study.config import PROFILES, InputError
from mocose_study.results import ledger, readme
from mocose_study.sections import SECTIONS

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^((?:mocose|papermill|pytest) [^#\n]*)", TEXT, re.M)


@pytest.mark.parametrize("page", ["README", "CHECKLIST", "CONTRIBUTING", "CHANGELOG"])
def test_every_file_that_a_page_links_exists(page):
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    links = [x for x in re.findall(r"\]\(([^)#]+)", text) if "://" not in x]
    assert not [link for link in links if not (ROOT / link).exists()]


def test_it_is_read_in_one_sitting_and_links_every_notebook():
    assert TEXT.count("\n") <= 160 and len(TEXT.split()) <= 1_500
    names = {path.name for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert names == set(re.findall(r"\]\(notebooks/(\w+\.ipynb)\)", TEXT))


def test_every_command_in_the_readme_is_understood():
    lines = [shlex.split(line.partition(">")[0]) for line in COMMANDS]
    commands = [cli.parsed(words[1:]) for words in lines if words[0] == "mocose"]
    profiles = {getattr(command, "profile", "quick") for command in commands}
    assert len(commands) >= 6 and profiles <= PROFILES.keys()
    assert {x for c in commands for x in getattr(c, "sections", ())} <= SECTIONS.keys()


def test_the_blocks_say_what_the_committed_runs_say(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(TEXT, encoding="utf-8")
    readme.write(path)
    text = path.read_text(encoding="utf-8")
    wrong = re.findall(r"- (.*)\n\n> \*\*Warning:\*\* (.*)", text)
    assert not wrong, f"write these sentences of readme.toml anew: {wrong}"
    assert text == TEXT, "run `mocose readme`"
    judged = ledger.judged("tiny")  # of which the site's front page makes a table
    assert readme.claims_table(judged).count("\n") == len(judged) + 1
    path.write_text("nothing")
    with pytest.raises(InputError, match="has no place <!-- finding -->"):
        readme.write(path)


def test_a_sentence_has_the_runs_numbers_and_warns_of_another_verdict(study):
    told = readme.blocks()
    assert told["finding"].count("the runs now say *no runs*") == 7
    assert told["range"].endswith("being made.") and "nan" not in told["claims"]
    write_section(SECTIONS["pace"], {"0.85, 0.001": 40.0, "0, 0.001": 10.0}, range(5))
    write_section(SECTIONS["main_results"], {"untrained [CLS]": 27.0}, [0])
    write_section(EMA, {"0.85": 40.0, "0.99": 44.0}, range(5))
    told = readme.blocks()
    sentence = "slowly (0.85 less 0.99: -4.0 points, -4.0 to -4.0; the paper"
    assert f"{sentence} +1.4).\n- FGSM" in told["finding"]
    assert "with care" not in told["finding"] and "| supported |" in told["claims"]
    assert "13.8 points above its own untrained [CLS] and 30.0 above" in told["range"]


def test_the_first_example_prints_a_gain(study, tmp_path, monkeypatch, capsys):
    """As printed, but for its length; before and after it prints three numbers."""
    block = re.search(r"```python\n(.*?)```", TEXT, re.S).group(1)
    block = block.replace("20_000", "2_000")
    block = block.replace("Settings(", "Settings(steps=4, ")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    told = capsys.readouterr().out
    assert len(re.findall(r"\d+\.\d", told)) == 6
    assert (tmp_path / "my-mocose" / "modules.json").exists()
    printed = re.search(r"<!-- printed -->(.*?)<!-- /printed -->", TEXT, re.S).group(1)
    assert re.sub(r"\d", "", told).split() == re.sub(r"[\d`]", "", printed).split()
