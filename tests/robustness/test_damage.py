"""Damaged and hostile files, full disks, no network: never a wrong number, never a command run."""

import errno
import hashlib
import io
import os
import pickle
import random
import socket

import pytest
import torch
from conftest import made

from mocose_lib import InputError
from mocose_study.data import checkpoint as checkpoints
from mocose_study.runs import run as runs
from mocose_study.runs.files import is_done, read_run, run_id

FLIPS = 4


@pytest.fixture
def checkpoint(small, study, eager, monkeypatch):
    """(config, the metrics of its unbroken run, the checkpoint of its interrupted one)."""
    config = small()
    metrics = read_run(made(config, "whole"))["metrics"]

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(runs, "write_run", stop)
        with pytest.raises(KeyboardInterrupt):
            made(config, "broken")
    path = study / "data" / "checkpoints" / f"{run_id(config)}.pt"
    assert path.exists()
    return config, metrics, path


@pytest.fixture
def ends_well(checkpoint, caplog):
    """With such a checkpoint the run drops it, says so, and ends with the right numbers."""
    config, metrics, path = checkpoint

    def check(content):
        caplog.clear()
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        file = made(config, "broken")
        assert f"{path.name} cannot be used, training starts anew" in caplog.text
        assert read_run(file)["metrics"] == metrics
        file.unlink()

    return check


def test_damaged_checkpoints_change_no_number(checkpoint, ends_well):
    """Flipped bits anywhere, and files that are cut off anywhere."""
    path, rng = checkpoint[2], random.Random(0)
    content = path.read_bytes()
    for _ in range(FLIPS):
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


def test_a_hostile_checkpoint_runs_nothing(ends_well, tmp_path):
    """As pickle and torch write it, each behind a digest that fits."""
    marker, buffer = tmp_path / "executed", io.BytesIO()
    torch.save({"settings": Hostile(marker)}, buffer)
    for content in (pickle.dumps(Hostile(marker)), buffer.getvalue()):
        ends_well(hashlib.sha256(content).digest() + content)
        assert not marker.exists()


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_for_checkpoints_costs_no_training(
    small, eager, monkeypatch, caplog
):
    config = small()
    expected = read_run(made(config, "whole"))["metrics"]
    monkeypatch.setattr(checkpoints, "write_atomically", full)
    assert read_run(made(config, "full"))["metrics"] == expected
    assert "no checkpoint could be written, training goes on" in caplog.text


def test_a_full_disk_for_run_files_is_a_sentence_and_the_run_goes_on_later(
    small, monkeypatch
):
    config = small(method="untrained")
    with monkeypatch.context() as once:
        once.setattr(runs, "write_run", full)
        with pytest.raises(
            InputError, match=r"1 of 1 runs failed; .*No space left on device"
        ):
            runs.run_grid([config], "quick", workers=0, bar=False)
    assert not is_done(config, "quick")
    assert runs.run_grid([config], "quick", workers=0, bar=False)


def test_the_main_paths_open_no_socket(small, monkeypatch):
    def refuse(*_, **__):
        pytest.fail("a socket was opened")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    configs = [small(), small(method="whitening")]
    assert runs.run_grid(configs, "quick", workers=0, bar=False)
