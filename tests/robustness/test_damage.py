"""Damaged and hostile files, full disks, no network.

Never is a number wrong, never a command run.
"""

import hashlib
import io
import os
import pickle
import random
import socket

import pytest
import torch
from conftest import made
from texts import full, raising, stop

from mocose_lib import InputError
from mocose_study.data import checkpoint as checkpoints
from mocose_study.runs import run as runs
from mocose_study.runs.files import read_run, run_file


@pytest.fixture
def interrupted(small, eager, monkeypatch, caplog):
    """The checkpoint of an interrupted run, and a check of other contents of it.

    With such a checkpoint the run drops it, says so, and ends with the right numbers.
    """
    config = small()
    metrics = read_run(made(config, "whole"))["metrics"]

    with monkeypatch.context() as once, pytest.raises(KeyboardInterrupt):
        once.setattr(runs, "write_run", stop)
        made(config, "broken")
    path = runs.checkpoint_of(run_file(config, "broken").stem).path

    def check(content):
        caplog.clear()
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        file = made(config, "broken")
        assert f"{path.name} cannot be used, training starts anew" in caplog.text
        assert read_run(file)["metrics"] == metrics
        file.unlink()

    return path.read_bytes(), check


def test_damaged_checkpoints_change_no_number(interrupted):
    """Flipped bits anywhere, and files that are cut off anywhere."""
    content, ends_well = interrupted
    rng = random.Random(0)
    for _ in range(4):
        damaged = bytearray(content)
        damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        ends_well(damaged)
    for length in (0, 31, 5000):
        ends_well(content[:length])


class Hostile:
    """A pickle that runs a command when it is opened."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def test_a_hostile_checkpoint_runs_nothing(interrupted, tmp_path):
    """As pickle and torch write it, each behind a digest that fits."""
    marker, buffer = tmp_path / "executed", io.BytesIO()
    torch.save({"settings": Hostile(marker)}, buffer)
    for content in (pickle.dumps(Hostile(marker)), buffer.getvalue()):
        interrupted[1](hashlib.sha256(content).digest() + content)
        assert not marker.exists()


def test_a_full_disk_costs_no_training(small, eager, monkeypatch, caplog):
    """And it is one sentence."""
    config = small()
    expected = read_run(made(config, "whole"))["metrics"]
    monkeypatch.setattr(checkpoints, "write_atomically", full)
    assert read_run(made(config, "full"))["metrics"] == expected
    assert "no checkpoint could be written, training goes on" in caplog.text
    path, told = run_file(config, "quick"), r"1 of 1 runs failed; .*No space left on"
    with monkeypatch.context() as once, pytest.raises(InputError, match=told):
        once.setattr(runs, "write_run", full)
        runs.run_grid([config], "quick", workers=0)
    assert not path.exists()
    assert runs.run_grid([config], "quick", workers=0) == [path]


def test_the_main_paths_open_no_socket(small, monkeypatch):
    refuse = raising(pytest.fail.Exception("a socket was opened"))
    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    configs = [small(), small(method="whitening")]
    assert runs.run_grid(configs, "quick", workers=0)
