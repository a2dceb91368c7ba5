"""The digest of a method's code: what changes it, and which runs are named."""

import shutil

from conftest import made

from mocose_study.cli import parsed
from mocose_study.runs import method
from mocose_study.runs.files import read_run, run_id, write_run
from mocose_study.runs.method import method_code, outdated
from mocose_study.sections import GRIDS

METHODS = ("mocose", "simcse", "s_simcse", "untrained")
EDITS = [  # file, what is replaced by what, and the methods that have another digest then
    ("mocose_lib/loss.py", "import torch\n", "import torch  # a comment\n\n\n", ()),
    ("mocose_lib/ema.py", '"""', '"""Another docstring. ', ()),
    ("mocose_lib/fgsm.py", "epsilon == 0", "epsilon==( 0 )", ()),
    ("mocose_study/results/style.py", "import", "import os, sys\nimport", ()),
    ("mocose_lib/evaluation/transfer.py", "SEED = 1111", "SEED = 1112", METHODS),
    ("mocose_study/rewriting/typos.toml", "# A model", "# One model", ()),
    ("mocose_study/rewriting/typos.toml", "omission = 0.24", "omission = 0.25", METHODS),
    ("mocose_study/systems/base.py", "torch.manual_seed(config.seed)", "1", METHODS),
    ("mocose_study/systems/simcse.py", "nn.Tanh()", "nn.ReLU()", ("simcse", "s_simcse")),
    ("mocose_study/systems/mocose.py", '"last"', '"first"', ("mocose",)),
]


def test_comments_and_other_rooms_change_no_digest_and_constants_do(tmp_path, monkeypatch):
    for name in ("LIBRARY", "STUDY"):
        original = getattr(method, name)
        copy = shutil.copytree(original, tmp_path / original.name)
        monkeypatch.setattr(method, name, copy)
    digest = method_code.__wrapped__  # nothing is remembered
    before = {name: digest(name) for name in METHODS}
    for file, old, new, changed in EDITS:
        path = tmp_path / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))
        after = {name: digest(name) for name in METHODS}
        assert {name for name in METHODS if after[name] != before[name]} == set(changed), file
        before = after


def test_runs_of_other_or_unknown_code_are_named(small):
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
