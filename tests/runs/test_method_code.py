"""The digest of a method's code: what changes it, and which runs are named."""

import shutil

import pytest
from conftest import made

from mocose_study.cli import parsed
from mocose_study.runs import method
from mocose_study.runs.files import read_run, run_id, write_run
from mocose_study.runs.method import method_code, outdated
from mocose_study.sections import GRIDS


@pytest.fixture
def source(tmp_path, monkeypatch):
    """change(file, old, new) edits a copy of the packages, in which the digests are taken."""
    for name in ("LIBRARY", "STUDY"):
        original = getattr(method, name)
        copy = shutil.copytree(original, tmp_path / "code" / original.name)
        monkeypatch.setattr(method, name, copy)
    method_code.cache_clear()

    def change(file, old, new):
        path = tmp_path / "code" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        method_code.cache_clear()

    yield change
    method_code.cache_clear()


METHODS = ("mocose", "simcse", "s_simcse", "untrained")


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("mocose_lib/loss.py", "import torch\n", "import torch  # a comment\n\n\n", ()),
        ("mocose_lib/ema.py", '"""', '"""Another docstring. ', ()),
        ("mocose_lib/fgsm.py", "epsilon == 0", "epsilon==( 0 )", ()),
        ("mocose_lib/evaluation/transfer.py", "SEED = 1111", "SEED = 1112", METHODS),
        ("mocose_study/systems/base.py", "2**62", "2**61", METHODS),
        ("mocose_study/systems/simcse.py", "nn.Tanh()", "nn.ReLU()", ("simcse", "s_simcse")),
        ("mocose_study/systems/mocose.py", '"last"', '"first"', ("mocose",)),
        ("mocose_study/results/plots.py", "import", "import os, sys\nimport", ()),
    ],
)
def test_comments_and_other_rooms_change_nothing_and_constants_do(source, file, old, new, changed):
    before = {name: method_code(name) for name in METHODS}
    source(file, old, new)
    assert {name for name in METHODS if method_code(name) != before[name]} == set(changed)


def test_runs_of_other_or_unknown_code_are_named(small, monkeypatch):
    config, other = small(method="untrained"), small(method="untrained", seed=1)
    path = made(config)
    assert outdated([config, other], "quick") == {}  # the other one is not there
    now, record = method_code("untrained"), read_run(path)
    for then in ("0" * 12, "unknown"):
        record["stamp"] |= {"method_code": then}
        if then == "unknown":
            del record["stamp"]["method_code"]
        write_run(path, record)
        found = outdated([config], "quick")
        assert found == {run_id(config): f"method code {then}, now {now}"}


def test_the_command_names_them_and_ends_well(small, monkeypatch, capsys):
    config = small(method="untrained")
    path = made(config)
    record = read_run(path)
    write_run(path, record | {"stamp": record["stamp"] | {"method_code": "0" * 12}})
    monkeypatch.setattr(type(GRIDS["start"]), "configs", lambda *_: [config])
    parsed(["results", "start", "--stale"]).main()
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "start (quick): 1 runs made with other method code"
    assert told[1].startswith(f"  {path.stem}: method code 000000000000, now ")
