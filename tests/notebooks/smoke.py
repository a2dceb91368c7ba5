"""Notebooks executed by papermill at the smallest profile, from nothing."""

from pathlib import Path

import papermill

from mocose_study.sections import GRIDS

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
FIRST, SECOND = NOTEBOOKS[:6], NOTEBOOKS[6:]  # of about equal time, for two workers


def execute(path: Path, study: Path, monkeypatch) -> None:
    monkeypatch.setenv("MOCOSE_STUDY", str(study))
    monkeypatch.setenv("MOCOSE_WORKERS", "0")
    mode = "load" if path.stem == "90_speed" else "run"  # test_bench measures
    papermill.execute_notebook(
        path,
        study / path.name,
        {"profile": "smoke", "mode": mode},
        kernel_name="python3",
        progress_bar=False,
        cwd=ROOT,
    )
    grids = [grid for grid in GRIDS.values() if grid.notebook == path.stem]
    without_runs = path.stem == "02_encoders"  # it draws how the encoders were pre-trained
    drawn = without_runs or not grids or any(grid.points_at("smoke") for grid in grids)
    assert bool(list((study / "figures" / "smoke").glob(f"{path.stem[:3]}*.svg"))) == drawn
