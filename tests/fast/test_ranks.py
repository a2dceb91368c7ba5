"""Two processes train as one with the whole batch; gloo stands for several GPUs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from texts import ROOT
from trained_by import WAYS

from mocose_lib import InputError
from mocose_lib.model import View
from mocose_study.cli.run import Run
from mocose_study.fast.ranks import Ranks

LAUNCH = ("-m", "torch.distributed.run", "--nproc-per-node", "2")


def launched(*arguments):
    """What two processes, or one, say; they compute with one thread each."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    options = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True}
    return subprocess.run([sys.executable, *map(str, arguments)], **options)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    trainer, encoder = ROOT / "tests/fast/trained_by.py", ROOT / "data/encoders/tiny"
    for launch in ((), LAUNCH):
        done = launched(*launch, trainer, encoder, folder)
        assert done.returncode == 0, done.stderr[-2000:]
    return [torch.load(folder / f"{name}.pt") for name in ("1-0", "2-0", "2-1")]


@pytest.mark.parametrize("way", WAYS)
def test_two_processes_train_as_one(found, way):
    alone, first, second = (of[way] for of in found)
    torch.testing.assert_close(first["losses"], alone["losses"], rtol=1e-6, atol=1e-6)
    unit = [torch.nn.functional.normalize(x["queue"], dim=1) for x in (first, alone)]
    torch.testing.assert_close(*unit, rtol=0, atol=5e-6)
    # Adam divides a gradient by its own size, and enlarges rounding
    torch.testing.assert_close(first["weights"], alone["weights"], rtol=0, atol=1e-4)
    for name, value in first.items():
        assert torch.equal(value, second[name]), f"{name} differs between processes"


@pytest.mark.slow
def test_a_run_of_two_processes_writes_one_file(tmp_path):
    command = (Path(sys.executable).with_name("mocose"), "run", "--profile", "smoke")
    done = launched(*LAUNCH, *command, "--out", tmp_path / "runs")
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert done.stdout.count("sts_avg") == 1


def test_what_two_processes_cannot_do_is_one_sentence(small, view):
    with pytest.raises(InputError, match="simcse trains in one process"):
        Run(config=small(method="simcse")).check(processes=2)
    two, rows = object.__new__(Ranks), [0, 1, 1]
    two.rank, two.size = 0, 2
    with pytest.raises(InputError, match="batch_size = 3 cannot be split among 2 proc"):
        two.own(View(view.words[rows], view.mask[rows]))
