"""The first notebooks run from top to bottom under papermill."""

import pytest
from smoke import FIRST, execute


@pytest.mark.parametrize("path", FIRST, ids=lambda p: p.stem)
def test_papermill_runs_it_at_the_smallest_profile(path, smoke_study, monkeypatch):
    execute(path, smoke_study, monkeypatch)
