"""All notebooks have one form, and can be turned by their parameters."""

import ast
import re

import nbformat
import pytest
from smoke import ALONE, NOTEBOOKS, parameters_of

from mocose_study.results.notebook import answer
from mocose_study.sections import FUNCTIONS, SECTIONS

HELPERS = {"open_section", "answer", "source"}
SHOWN = ("mocose_study.systems.", "mocose_study.runs")  # whose code a notebook shows
SHARED = {"profile", "seeds", "changes", "run_missing"}


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    read = nbformat.read(request.param, as_version=4)
    read.path, read.stem = request.param, request.param.stem
    read.code = [cell for cell in read.cells if cell.cell_type == "code"]
    read.tree = ast.parse("\n".join(cell.source for cell in read.code))
    return read


def test_it_is_short_asks_first_answers_early_and_ends_with_the_meaning(notebook):
    lines = [x for cell in notebook.code for x in cell.source.splitlines() if x.strip()]
    assert len(notebook.cells) <= 25 and len(lines) <= 150
    outputs = [output for cell in notebook.code for output in cell.outputs]
    assert not any(output.output_type == "error" for output in outputs)
    first, last = notebook.cells[0].source, notebook.cells[-1].source
    assert re.match("# .+", first)
    if notebook.stem not in {*ALONE, "00_start_here"}:
        assert first.splitlines()[0].endswith("?")
        early = [cell.source for cell in notebook.cells[:6]]
        assert any(re.search(r"^(display\()?answer\(", x, re.M) for x in early)
        assert "## What it means" in last
        assert any("image/png" in output.get("data", {}) for output in outputs)


def test_parameters_are_literals_in_the_first_code_cell(notebook):
    source, values = parameters_of(notebook.path)
    assert source == notebook.code[0].source
    assert values["profile"] == "tiny"
    nodes = [node for node in ast.walk(notebook.tree) if isinstance(node, ast.Name)]
    used = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    assert values.keys() - used <= {"profile"}
    if notebook.stem not in ALONE:
        assert values.keys() >= SHARED
    if SECTIONS_OF.get(notebook.stem):
        tried = [cell for cell in notebook.code if ".try_it(" in cell.source]
        assert "mine" in values and tried
        assert all("nbval-skip" in cell.metadata.tags for cell in tried)


SECTIONS_OF = {
    path.stem: [s for s in SECTIONS.values() if s.notebook == path.stem]
    for path in NOTEBOOKS
}


def calls(notebook, name: str) -> list[ast.Call]:
    nodes = [node for node in ast.walk(notebook.tree) if isinstance(node, ast.Call)]
    return [node for node in nodes if getattr(node.func, "id", "") == name]


def test_it_opens_its_sections_with_its_own_parameters(notebook):
    first = [call.args[0] for call in calls(notebook, "open_section")]
    opened = {arg.value for arg in first if isinstance(arg, ast.Constant)}
    assert opened >= {section.name for section in SECTIONS_OF[notebook.stem]}
    assert opened <= FUNCTIONS.keys()


def test_it_imports_the_three_helpers(notebook):
    for node in ast.walk(notebook.tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("mocose_study"):
            alone = notebook.stem in {"90_speed", "99_claims"}
            helpers = {alias.name for alias in node.names} <= HELPERS
            shown = node.module.startswith(SHOWN)
            assert alone or helpers or shown


def test_the_answers_sentences_say_what_the_runs_say(notebook):
    for call in calls(notebook, "answer"):
        told = answer(*map(ast.literal_eval, call.args)).data
        assert "Warning" not in told, told
