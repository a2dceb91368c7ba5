"""Batches: their order is a function of seed and epoch, their lengths are as asked for."""

import numpy as np
import pytest

from mocose_lib import InputError, Settings
from mocose_lib.trainer import batches

LENGTHS = np.random.default_rng(0).integers(5, 12, 100)


def take(n, start=0, lengths=LENGTHS, **changes):
    settings = Settings(**{"batch_size": 8, "batch_lengths": "mixed", **changes})
    stream = batches(lengths, settings, start)
    return [next(stream).tolist() for _ in range(n)]


@pytest.mark.parametrize("kind", ["mixed", "equal"])
def test_an_epoch_has_every_row_at_most_once(kind):
    per_epoch = (
        100 // 8 if kind == "mixed" else sum(n // 8 for n in np.bincount(LENGTHS))
    )
    for epoch in range(2):
        found = take(2 * per_epoch, batch_lengths=kind)[epoch * per_epoch :][:per_epoch]
        rows = [row for batch in found for row in batch]
        assert len(rows) == len(set(rows)) == 8 * per_epoch
        if kind == "equal":  # in random order of the lengths
            of_batch = [{LENGTHS[i] for i in batch} for batch in found]
            assert all(len(each) == 1 for each in of_batch)
            assert of_batch != sorted(of_batch, key=min)


def test_batches_of_one_length_have_the_sentences_that_fill_it():
    config = dict(batch_lengths="one", max_length=9)
    full = int((LENGTHS == 9).sum()) // 8
    rows = [row for batch in take(full, **config) for row in batch]
    assert full >= 1 and {LENGTHS[row] for row in rows} == {9}
    assert len(rows) == len(set(rows))
    with pytest.raises(
        InputError, match="no 8 of the 100 sentences fit batch_lengths = 'one'"
    ):
        take(1, batch_lengths="one", max_length=30)
    with pytest.raises(InputError, match="no 8 of the 100 sentences"):
        take(1, lengths=np.arange(100), batch_lengths="equal")


@pytest.mark.parametrize("kind", ["mixed", "equal"])
@pytest.mark.parametrize("start", [5, 30])
def test_a_resumed_run_goes_on_where_it_stopped(kind, start):
    assert (
        take(10, start, batch_lengths=kind)
        == take(start + 10, batch_lengths=kind)[start:]
    )


def test_the_order_depends_on_the_seed_and_nothing_else():
    assert take(5) == take(5, temperature=0.1, queue_size=256, lr=0.1, head_dropout=0.2)
    assert take(5) != take(5, seed=1)
    assert take(24)[:12] != take(24)[12:]  # every epoch has its own


def test_sentences_that_are_never_drawn_are_said_once(caplog):
    rows = batches([5] * 10 + [6] * 3, Settings(batch_size=4, batch_lengths="equal"))
    [next(rows) for _ in range(9)]
    assert [r.getMessage() for r in caplog.records] == [
        "batch_lengths = 'equal' leaves out 3 of 13 sentences, too few of their length"
    ]
    next(batches([5] * 100 + [6] * 3, Settings(batch_size=4, batch_lengths="equal")))
    next(batches([5] * 10 + [6] * 3, Settings(batch_size=4, batch_lengths="mixed")))
    assert len(caplog.records) == 1
