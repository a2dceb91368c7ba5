"""The other notebooks: a file of their own, for a worker of its own."""

import pytest
from smoke import SECOND, execute


@pytest.mark.parametrize("path", SECOND, ids=lambda p: p.stem)
def test_it_runs_at_the_smallest_profile(path, smoke_study, monkeypatch):
    execute(path, smoke_study, monkeypatch)
