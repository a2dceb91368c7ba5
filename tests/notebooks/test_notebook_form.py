"""Every notebook has one form: parameters, question and answer first; a conclusion last."""

import ast
import re

import nbformat
import pytest
from smoke import NOTEBOOKS

from mocose_study.sections import GRIDS

LEDGERS = (
    "01_method",
    "90_speed",
    "99_claims",
)  # their answers and conclusions are their own


def code_of(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    found = nbformat.read(request.param, as_version=4)
    found.stem = request.param.stem
    return found


def test_the_parameters_are_literals_in_a_cell_of_their_own(notebook):
    tagged = [
        c for c in code_of(notebook) if "parameters" in c.metadata.get("tags", [])
    ]
    assert tagged == code_of(notebook)[:1]
    lines = ast.parse(tagged[0].source).body
    assert [line.targets[0].id for line in lines][:2] == ["profile", "mode"]
    for line in lines:
        ast.literal_eval(line.value)  # raises for anything but a literal


def test_the_first_screen_has_the_question_and_the_answer(notebook):
    assert notebook.cells[0].source.startswith("# ")
    if notebook.stem not in LEDGERS:
        first = code_of(notebook)[1].source
        assert "show.check_parameters(profile, mode, seeds)" in first
        assert first.splitlines()[-1].startswith("conclude.answer(")


def test_the_last_cell_is_what_a_reader_should_take_away(notebook):
    last = notebook.cells[-1].source
    assert "conclude.conclusion(" in last or notebook.stem in LEDGERS


def test_cells_are_short_and_none_ended_in_an_error(notebook):
    for cell in code_of(notebook):
        body = cell.source.partition("def ")[2]
        assert "class " not in cell.source and body.count("\n") <= 12
        assert not any(output.output_type == "error" for output in cell.outputs)


def test_the_ledgers_links_lead_to_a_heading(notebook):
    """`results/ledger.py` links every claim to the heading of its section's verdict."""
    text = "\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )
    for name, grid in GRIDS.items():
        if grid.claims and grid.notebook == notebook.stem:
            assert re.search(rf"^###? Verdict: {name}$", text, re.M), name
