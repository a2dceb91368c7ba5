"""When a checkpoint is written, and whose code it names."""

import pytest

from mocose_lib import InputError
from mocose_study.data import checkpoint as checkpoints
from mocose_study.data.checkpoint import Checkpoint


def test_a_checkpoint_waits_for_its_seconds_and_for_fifty_times_what_the_last_one_took(
    tmp_path, monkeypatch
):
    clock = [100.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: clock[0])
    monkeypatch.setenv("MOCOSE_CHECKPOINT_SECONDS", "10")
    checkpoint = Checkpoint(tmp_path / "run.pt")
    assert checkpoint.read() is None

    def due_at(second):
        clock[0] = second
        return checkpoint.due()

    def slow(
        path, part
    ):  # a write of two seconds: the next one may come after a hundred
        clock[0] += 2.0
        return written(path, part)

    written = checkpoints.write_atomically
    assert not due_at(109.9) and due_at(110.0)
    checkpoint.write({"step": 1})
    assert not due_at(119.9) and due_at(120.0)
    monkeypatch.setattr(checkpoints, "write_atomically", slow)
    checkpoint.write({"step": 2})
    assert not due_at(221.9) and due_at(222.0)
    assert checkpoint.read() == {"step": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


@pytest.mark.parametrize("text", ["often", "-1", "1.5", ""])
def test_seconds_that_are_none_are_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv("MOCOSE_CHECKPOINT_SECONDS", text)
    with pytest.raises(
        InputError, match=f"MOCOSE_CHECKPOINT_SECONDS = {text!r} must be a whole number"
    ):
        Checkpoint(tmp_path / "run.pt")


def test_a_checkpoint_keeps_the_code_of_all_parts_of_its_training(tmp_path):
    path, codes = tmp_path / "run.pt", [{"commit": "a"}, {"commit": "b"}]
    Checkpoint(path, codes[0]).write({"step": 1})
    same = Checkpoint(path, codes[0])
    assert same.read() == {"step": 1} and same.codes == codes[:1]
    later = Checkpoint(path, codes[1])
    assert later.read() == {"step": 1} and later.codes == codes
    later.write({"step": 2})
    again = Checkpoint(path, codes[0])
    assert again.read() == {"step": 2} and again.codes == codes
