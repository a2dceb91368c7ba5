"""The first notebooks run from top to bottom, one of them under papermill."""

import papermill
import pytest
from smoke import FIRST, ROOT, at_smoke, check_figures, execute, parameters_of


@pytest.mark.parametrize("path", FIRST, ids=lambda p: p.stem)
def test_it_runs_at_the_smallest_profile(path, smoke_study, monkeypatch):
    execute(path, smoke_study, monkeypatch)


def test_papermill_runs_one(smoke_study, monkeypatch):
    path = ROOT / "notebooks" / "04_ema.ipynb"
    at_smoke(smoke_study, monkeypatch)
    papermill.execute_notebook(
        path,
        smoke_study / path.name,
        parameters_of(path),
        kernel_name="python3",
        progress_bar=False,
    )
    check_figures(path, smoke_study)
