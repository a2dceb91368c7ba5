"""A finished run made once more: what came back, and what did not."""

import pytest
from conftest import made

from mocose_lib import InputError
from mocose_study.runs.files import read_run, write_run
from mocose_study.runs.replay import Replay, replay


@pytest.fixture
def path(small):
    return made(small())


def change(path, **changes):
    """Writes something else into a run file, under "part__name", with a digest that fits."""
    record = read_run(path)
    for name, value in changes.items():
        part, _, name = name.rpartition("__")
        (record[part] if part else record)[name] = value
    write_run(path, record)


def test_a_run_comes_back_to_the_last_digit_and_its_file_stays(path, study):
    before = path.read_bytes()
    found = replay(path, "cpu")
    assert found.differing == found.changed == {} and found.numbers > 8
    assert str(found) == f"reproduced: all {found.numbers} numbers came back"
    assert path.read_bytes() == before
    assert not list((study / "data" / "checkpoints").glob("*"))


def test_what_differs_is_named_with_what_has_changed(path):
    change(path, metrics__sts_dev=99.0, stamp__device="cpu: Another")
    found = replay(path, "cpu")
    ((name, (before, now)),) = found.differing.items()
    assert (name, before) == ("sts_dev", 99.0) and now < 99
    assert found.verdict == "not reproduced"
    assert f"1 of {found.numbers} numbers differ" in str(found)
    assert "device cpu: Another -> cpu: " in str(found) and list(found.changed) == ["device"]


@pytest.mark.parametrize(
    ("now", "changed", "verdict"),
    [
        (50.0, {}, "reproduced"),
        (50.016, {"device": ("a", "b")}, "reproduced within 0.05 points"),
        (50.016, {}, "not reproduced"),  # the same machine gives the same digits
        (50.1, {"device": ("a", "b")}, "not reproduced"),
        (None, {"device": ("a", "b")}, "not reproduced"),
    ],
)
def test_the_verdict_by_hand(now, changed, verdict):
    differing = {} if now == 50.0 else {"sts_avg": (50.0, now)}
    found = Replay(28, differing, changed)
    assert found.verdict == verdict and str(found).startswith(f"{verdict}: ")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda p: p.unlink(), "there is no run file"),
        (lambda p: change(p, inputs__encoder="0" * 12), "made from other files: encoder"),
        (lambda p: p.write_text("{"), "is damaged"),
    ],
)
def test_what_cannot_be_replayed_is_said_before_any_training(path, damage, told, monkeypatch):
    damage(path)
    monkeypatch.setattr("mocose_study.runs.replay.measured", lambda *a: pytest.fail("it trained"))
    with pytest.raises(InputError, match=told):
        replay(path, "cpu")
