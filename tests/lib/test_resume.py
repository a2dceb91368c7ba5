"""Trainings that are killed at each step end like the unbroken one."""

import numpy as np
import pytest
from conftest import SMALL, assert_same
from test_train import VARIANTS
from texts import open_sentences

from mocose_lib import InputError, Settings, train
from mocose_lib.queue import NegativeQueue
from mocose_lib.trainer import Trainer
from mocose_study.data import atomic
from mocose_study.data.checkpoint import Checkpoint

PLACES = {
    "step": (Trainer, "optimise"),
    "enqueue": (NegativeQueue, "enqueue"),
    "save": (atomic.os, "replace"),
}


def kill_at(monkeypatch, where, call):
    """The call-th call of a function of the loop does not return."""
    real, count = getattr(*PLACES[where]), iter(range(1, 1_000))

    def stopping(*arguments, **more):
        if next(count) == call:
            raise KeyboardInterrupt
        return real(*arguments, **more)

    monkeypatch.setattr(*PLACES[where], stopping)


KILLS = [(variant, "save") for variant in VARIANTS]
KILLS += [(v, where) for v in ("code", "latest keys") for where in ("step", "enqueue")]


@pytest.mark.parametrize(("variant", "where"), KILLS)
def test_kills_change_nothing(go, eager, monkeypatch, tmp_path, variant, where):
    """It is killed once in each step and goes on from the checkpoint before."""
    unbroken = go(**VARIANTS[variant])
    assert all(abs(row["loss"]) < 100 for row in unbroken.progress.history)
    checkpoint = Checkpoint(tmp_path / "run.pt")
    for _ in range(SMALL["steps"] - 1):  # one step is saved, the next one is killed
        with monkeypatch.context() as once:
            kill_at(once, where, call=2)
            with pytest.raises(KeyboardInterrupt):
                go(**VARIANTS[variant], checkpoint=checkpoint)
    assert checkpoint.read()["progress"]["step"] == SMALL["steps"] - 1
    assert_same(go(**VARIANTS[variant], checkpoint=checkpoint), unbroken)


def test_a_checkpoint_of_other_settings_is_refused(go, eager, tmp_path):
    go(checkpoint=Checkpoint(tmp_path / "run.pt"))
    for change in ({"seed": 1}, {"sentences": 50}):
        with pytest.raises(InputError, match="of another training"):
            go(**change, checkpoint=Checkpoint(tmp_path / "run.pt"))


def test_a_score_of_any_kind_of_number_can_be_read_back(encoder, eager, tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.pt")
    options = {"evaluate": lambda _: {"score": np.float64(1)}, "bar": False}
    settings = Settings(**SMALL)
    train(encoder, open_sentences(64), settings, checkpoint=checkpoint, **options)
    assert checkpoint.read()["progress"]["best_score"] == 1
