"""Damaged and hostile files, full disks, no network: never a wrong number, never a command run."""

import errno
import hashlib
import os
import pickle
import random
import socket

import pytest
import torch
from conftest import made

from mocose_lib import InputError, trainer
from mocose_study.runs import run as runs
from mocose_study.runs.files import is_done, read_run, run_id
from mocose_study.runs.replay import replay

FLIPS = 12


@pytest.fixture
def checkpoint(small, study, monkeypatch):
    """(config, the metrics of its unbroken run, the checkpoint of its interrupted one)."""
    config = small()
    metrics = read_run(made(config, "whole"))["metrics"]
    monkeypatch.setattr(trainer, "SAVE_SECONDS", -1.0)
    monkeypatch.setattr(trainer, "SAVE_SHARE", float("inf"))

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
    """Checks that the run drops its checkpoint, says so, and ends with the right numbers."""
    config, metrics, path = checkpoint

    def check():
        caplog.clear()
        file = made(config, "broken")
        assert f"{path.name} cannot be used, training starts anew" in caplog.text
        assert read_run(file)["metrics"] == metrics
        file.unlink()

    return check


def test_flipped_bytes_of_a_checkpoint_change_no_number(checkpoint, ends_well):
    path, rng = checkpoint[2], random.Random(0)
    content = path.read_bytes()
    for _ in range(FLIPS):
        damaged = bytearray(content)
        damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(damaged)
        ends_well()


@pytest.mark.parametrize("length", [0, 10, 31, 32, 5000])
def test_a_truncated_checkpoint_changes_no_number(checkpoint, ends_well, length):
    path = checkpoint[2]
    path.write_bytes(path.read_bytes()[:length])
    ends_well()


class Hostile:
    """A pickle that runs a command when it is opened."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("signed", [False, True], ids=["as it is", "with a digest that fits"])
@pytest.mark.parametrize("form", [pickle.dumps, "torch"], ids=["pickle", "torch.save"])
def test_a_hostile_checkpoint_runs_nothing(checkpoint, ends_well, tmp_path, form, signed):
    path, marker = checkpoint[2], tmp_path / "executed"
    if form == "torch":
        torch.save({"settings": Hostile(marker)}, path)
        content = path.read_bytes()
    else:
        content = form(Hostile(marker))
    path.write_bytes((hashlib.sha256(content).digest() if signed else b"") + content)
    ends_well()
    assert not marker.exists()


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_for_checkpoints_costs_no_training(small, monkeypatch, caplog):
    config = small()
    expected = read_run(made(config, "whole"))["metrics"]
    monkeypatch.setattr(trainer, "SAVE_SECONDS", -1.0)
    monkeypatch.setattr(trainer, "save_state", full)
    assert read_run(made(config, "full"))["metrics"] == expected
    assert "no checkpoint could be written, training goes on" in caplog.text


def test_a_full_disk_for_run_files_is_a_sentence_and_the_run_goes_on_later(small, monkeypatch):
    config = small(method="untrained")
    with monkeypatch.context() as once:
        once.setattr(runs, "write_run", full)
        with pytest.raises(InputError, match=r"1 of 1 runs failed; .*No space left on device"):
            runs.run_grid([config], "quick", workers=0, bar=False)
    assert not is_done(config, "quick")
    assert runs.run_grid([config], "quick", workers=0, bar=False)


def test_the_main_paths_open_no_socket(small, monkeypatch):
    def refuse(*_, **__):
        pytest.fail("a socket was opened")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    configs = [small(), small(method="simcse"), small(method="whitening")]
    files = runs.run_grid(configs, "quick", workers=0, bar=False)
    assert replay(files[0], "cpu").verdict == "reproduced"
