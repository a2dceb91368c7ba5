"""A finished run made once more: what came back, and what did not."""

import json

import pytest

from mocose_study import cli
from mocose_study.config import InputError
from mocose_study.runs.replay import replay
from mocose_study.runs.run import run


@pytest.fixture
def path(small):
    return run(small(), "quick", "cpu")


def change(path, **changes):
    """Writes something else into a run file, under "part.name"."""
    record = json.loads(path.read_text())
    for name, value in changes.items():
        part, _, name = name.rpartition("__")
        (record[part] if part else record)[name] = value
    path.write_text(json.dumps(record))


def test_a_run_comes_back_to_the_last_digit_and_its_file_stays(path, study):
    before = path.read_bytes()
    found = replay(path, "cpu")
    assert found.differing == found.changed == {} and found.numbers > 20
    assert str(found) == f"all {found.numbers} numbers came back"
    assert path.read_bytes() == before
    assert not list((study / "data" / "checkpoints").glob("*"))


def test_what_differs_is_named_with_what_has_changed(path):
    change(path, metrics__sts_dev=99.0, stamp__code="0.0.1+older")
    found = replay(path, "cpu")
    (name, (before, now)), = found.differing.items()
    assert (name, before) == ("sts_dev", 99.0) and now < 99
    assert f"1 of {found.numbers} numbers differ: sts_dev 99.0 -> {now}" in str(found)
    assert "code 0.0.1+older -> " in str(found) and list(found.changed) == ["code"]


def test_another_draw_is_seen(path):
    record = json.loads(path.read_text())
    change(path, config=record["config"] | {"seed": 5})
    assert "sts_avg" in replay(path, "cpu").differing


@pytest.mark.parametrize(
    ("damage", "told"),
    [(lambda p: p.unlink(), "there is no run file"),
     (lambda p: change(p, encoder_sha256="0" * 12), "made from other weights"),
     (lambda p: p.write_text("{"), "is damaged")],
)  # fmt: skip
def test_what_cannot_be_replayed_is_said_before_any_training(path, damage, told, monkeypatch):
    damage(path)
    monkeypatch.setattr("mocose_study.runs.replay.measured", lambda *a: pytest.fail("it trained"))
    with pytest.raises(InputError, match=told):
        replay(path, "cpu")


def test_the_command_says_it_for_every_file(path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["mocose", "replay", str(path)])
    cli.main()
    assert capsys.readouterr().out.startswith(f"{path.stem}: all ")


def test_the_command_reads_all_files_before_it_trains(path, monkeypatch, capsys):
    monkeypatch.setattr("mocose_study.runs.replay.measured", lambda *a: pytest.fail("it trained"))
    for files, told in (([path, path.parent / "none.json"], "no run file"), ([], "no run file was named")):
        monkeypatch.setattr("sys.argv", ["mocose", "replay", *map(str, files)])
        with pytest.raises(SystemExit):
            cli.main()
        assert told in capsys.readouterr().err
