"""A committed notebook gets new outputs, and keeps its old ones when a cell fails."""

import nbformat
import pytest

from DELETED import committed
from mocose_study.config import InputError


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setattr(committed, "STUDY", tmp_path)
    (tmp_path / "notebooks").mkdir()

    def write(*sources):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        cells[-1].outputs = [nbformat.v4.new_output("stream", text="old")]
        path = tmp_path / "notebooks" / "00_new.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return path

    return write


def test_outputs_are_replaced_without_noise(write):
    path = write("import sys; print('noise', file=sys.stderr)", "6 * 7")
    committed.refresh_all(("00",))
    first, second = nbformat.read(path, 4).cells
    assert first.outputs == [] and (first.execution_count, second.execution_count) == (1, 2)
    (output,) = second.outputs
    assert output.data["text/plain"] == "42" and output.execution_count == 2
    assert "papermill" not in str(nbformat.read(path, 4))


def test_a_failing_cell_is_named_and_changes_nothing(write):
    path = write("raise ValueError('no such thing')")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"00_new\.ipynb failed: ValueError: no such thing"):
        committed.refresh(path)
    assert path.read_bytes() == before


def test_an_unknown_name_is_refused(write):
    write("1")
    with pytest.raises(InputError, match="no notebook '07'"):
        committed.notebooks(("07",))
