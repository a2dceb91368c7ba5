"""When a checkpoint is written, and whose code it names."""

import pytest

from mocose_lib import InputError
from mocose_study.data import checkpoint as checkpoints
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.runs.run import prepare


def test_a_checkpoint_waits_for_its_seconds(tmp_path, monkeypatch):
    """And for fifty times what the last one took."""
    clock, written = [100.0, 0.0], checkpoints.write_atomically

    def writing(path, part):
        clock[0] += clock[1]  # the seconds that it takes
        return written(path, part)

    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpoints, "write_atomically", writing)
    monkeypatch.setenv("MOCOSE_CHECKPOINT_SECONDS", "10")
    checkpoint = Checkpoint(tmp_path / "run.pt")
    assert checkpoint.read() is None
    for second, takes in ((110, 0), (120, 2), (222, 0)):
        clock[:] = second - 0.1, takes
        assert not checkpoint.due()
        clock[0] = float(second)
        assert checkpoint.due()
        checkpoint.write({"second": second})
    assert checkpoint.read() == {"second": 222}
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


@pytest.mark.parametrize("text", ["often", "-1", "1.5", ""])
def test_seconds_that_are_none_are_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv("MOCOSE_CHECKPOINT_SECONDS", text)
    told = f"SECONDS = {text!r} must be a whole number"
    with pytest.raises(InputError, match=told):
        Checkpoint(tmp_path / "run.pt")
    with pytest.raises(InputError, match=told):
        prepare([])  # so before a grid begins


def test_a_checkpoint_keeps_the_code_of_all_parts_of_its_training(tmp_path):
    a, b = {"commit": "a"}, {"commit": "b"}
    Checkpoint(tmp_path / "run.pt", a).write({"step": 1})
    for code, expected in ((a, [a]), (b, [a, b]), (a, [a, b])):
        part = Checkpoint(tmp_path / "run.pt", code)
        assert part.read() == {"step": 1} and part.codes == expected
        part.write({"step": 1})
