"""Notebooks executed at the smallest profile, from nothing."""

from pathlib import Path

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot
from texts import ROOT
from traitlets.config import Config

from mocose_study.sections import GRIDS

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
FIRST, SECOND = NOTEBOOKS[:6], NOTEBOOKS[6:]  # of about equal time, for two workers


def parameters_of(path: Path) -> dict[str, str]:
    mode = "load" if path.stem == "90_speed" else "run"  # test_bench measures
    return {"profile": "smoke", "mode": mode}


def execute(path: Path, study: Path, monkeypatch) -> None:
    """Runs the cells in this process: a kernel of its own would first import torch, each time."""
    at_smoke(study, monkeypatch)
    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            shell.run_cell(cell.source).raise_error()
        if "parameters" in cell.metadata.get("tags", []):
            shell.user_ns.update(parameters_of(path))
    pyplot.close("all")
    check_figures(path, study)


def at_smoke(study: Path, monkeypatch) -> None:
    monkeypatch.setenv("MOCOSE_STUDY", str(study))
    monkeypatch.setenv("MOCOSE_WORKERS", "0")
    monkeypatch.chdir(ROOT)


def check_figures(path: Path, study: Path) -> None:
    grids = [grid for grid in GRIDS.values() if grid.notebook == path.stem]
    without_runs = (
        path.stem == "02_encoders"
    )  # it draws how the encoders were pre-trained
    drawn = without_runs or not grids or any(grid.points_at("smoke") for grid in grids)
    assert (
        bool(list((study / "figures" / "smoke").glob(f"{path.stem[:3]}*.svg"))) == drawn
    )
