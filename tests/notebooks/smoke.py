"""Notebooks executed in this process: a kernel would import torch each time."""

import ast
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from texts import ROOT
from traitlets.config import Config

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
ALONE = {"01_method", "90_speed", "99_claims"}  # they have no section of their own


def execute(path: Path, study: Path, monkeypatch, **parameters) -> dict:
    """Runs all cells, with parameters put in by papermill, and returns the names.

    Raises what a cell raises.
    """
    monkeypatch.setenv("MOCOSE_STUDY", str(study))
    monkeypatch.setenv("MOCOSE_WORKERS", "0")
    monkeypatch.chdir(ROOT / "notebooks")
    notebook = parameterize_notebook(load_notebook_node(str(path)), parameters)
    quiet = Config(HistoryManager={"enabled": False})
    shell = InteractiveShell.instance(config=quiet)
    try:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                shell.run_cell(cell.source, store_history=True).raise_error()
        return dict(shell.user_ns)
    finally:
        InteractiveShell.clear_instance()
        pyplot.close("all")


def parameters_of(path: Path) -> tuple[str, dict]:
    """The source of the cell with the parameters, and their values."""
    cells = load_notebook_node(str(path)).cells
    (cell,) = [c for c in cells if "parameters" in c.metadata.tags]
    lines = ast.parse(cell.source).body
    return cell.source, {x.targets[0].id: ast.literal_eval(x.value) for x in lines}
