"""Every notebook has DESIGN's form; the first ones run from top to bottom under papermill."""

import nbformat
import pytest
from smoke import FIRST, NOTEBOOKS, execute


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_form(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [c for c in notebook.cells if c.cell_type == "code"]
    tagged = [c for c in cells if "parameters" in c.metadata.get("tags", [])]
    assert len(tagged) == 1
    names = [line.split(" = ")[0] for line in tagged[0].source.splitlines()]
    assert names[:2] == ["profile", "mode"]
    assert notebook.cells[0].source.startswith("# ")
    for cell in cells:
        body = cell.source.partition("def ")[2]
        assert "class " not in cell.source and body.count("\n") <= 10
        assert not any(output.output_type == "error" for output in cell.outputs)


@pytest.mark.parametrize("path", FIRST, ids=lambda p: p.stem)
def test_papermill_runs_it_at_the_smallest_profile(path, smoke_study, monkeypatch):
    execute(path, smoke_study, monkeypatch)
