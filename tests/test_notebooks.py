"""Every notebook has DESIGN's form, and runs from top to bottom under papermill, from nothing."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
dealt_out = pytest.mark.parametrize(  # to all workers, one notebook at a time
    "path", [pytest.param(p, id=p.stem, marks=pytest.mark.xdist_group(p.stem)) for p in NOTEBOOKS]
)


@by_name
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


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """A study folder with nothing in it but what the repository ships; all workers share its runs."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "smoke"
    for made in ("data/cache", "data/runs"):
        (folder / made).mkdir(parents=True, exist_ok=True)
    for shipped in ("notebooks", "data/encoders", "data/paper", "data/runs/bench"):
        with suppress(FileExistsError):  # another worker was faster
            (folder / shipped).symlink_to(ROOT / shipped)
    return folder


@dealt_out
def test_papermill_runs_it_at_the_smallest_profile(path, study):
    command = [
        sys.executable, "-m", "papermill", str(path), str(study / path.name), "-k", "python3",
        "--no-progress-bar", "-p", "profile", "smoke",
        "-p", "mode", "load" if path.stem == "90_speed" else "run",  # test_bench measures
    ]  # fmt: skip
    environment = {**os.environ, "MOCOSE_STUDY": str(study), "HF_HUB_OFFLINE": "1",
                   "MOCOSE_WORKERS": "0"}  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    assert list((study / "figures" / "smoke").glob(f"{path.stem[:3]}*.svg"))
