"""Notebooks executed by papermill at the smallest profile, from nothing."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


def execute(path: Path, study: Path) -> None:
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
