"""The queue against a list that is kept by hand."""

import pytest
import torch

from mocose_lib import Settings
from mocose_lib.queue import RANDOM, NegativeQueue

BATCH, DIM = 4, 3


def queue(size, init=0, growth="exact"):
    return NegativeQueue(size, DIM, init, torch.Generator().manual_seed(0), growth)


def keys_of(step, batch=BATCH):
    """Keys that can be told apart: 100 step + place in the batch."""
    return torch.arange(batch)[:, None].expand(batch, DIM) + 100.0 * step


@pytest.mark.parametrize("share", [0, 0.5, 1])
@pytest.mark.parametrize("size", [0, 1, 4, 7, 12])
def test_equals_a_list_kept_by_hand(size, share):
    """Any size, also less than the batch or no multiple; none, part or all filled."""
    q = queue(size, int(share * size))
    kept = [(row, RANDOM) for row in q.keys]
    for step in range(1, 9):
        q.enqueue(keys_of(step), step)
        kept = ([(row, step) for row in keys_of(step)] + kept)[:size]
        expected = torch.stack([row for row, _ in kept]) if size else q.keys[:0]
        assert torch.equal(q.negatives(), expected)
        ages = [RANDOM if born == RANDOM else step - born for _, born in kept]
        assert q.ages(step).tolist() == ages


def test_a_key_has_no_gradient_and_the_fill_is_of_length_1():
    q = queue(8, 5)
    torch.testing.assert_close(q.keys.norm(dim=1), torch.ones(5))
    q.enqueue(torch.ones(2, DIM, requires_grad=True), 1)
    assert not q.negatives().requires_grad


def test_a_quarter_is_random_unless_the_settings_say_otherwise():
    sizes = {512: 128, 1024: 256, 3: 1, 0: 0}
    drawn = {size: Settings(queue_size=size).random_keys for size in sizes}
    assert drawn == sizes and Settings(queue_init=0).random_keys == 0


def test_slices_count_from_the_newest_once_the_queue_is_full():
    q = queue(12)
    for step in (1, 2):
        q.enqueue(keys_of(step), step)
        assert len(q.negatives(((0, 4),))) == step * BATCH  # the whole queue as yet
    q.enqueue(keys_of(3), 3)
    order = [100.0 * step + i for step in (3, 2, 1) for i in range(BATCH)]
    for parts in (((0, 4),), ((4, 8),), ((0, 3), (8, 12)), ((0, 12),)):
        expected = [order[i] for low, high in parts for i in range(low, high)]
        assert q.negatives(parts)[:, 0].tolist() == expected


def test_refresh_replaces_the_newest_and_keeps_ages():
    q = queue(6)
    for step in (1, 2):
        q.enqueue(keys_of(step), step)
    q.refresh(-keys_of(2))
    assert q.negatives()[:, 0].tolist() == [-200, -201, -202, -203, 100, 101]
    assert q.ages(2).tolist() == [0] * 4 + [1] * 2
    q.refresh(torch.zeros(8, DIM))  # more than fit
    assert q.negatives().abs().sum() == 0 and len(q.negatives()) == 6


@pytest.mark.parametrize("growth", ["exact", "published"])
def test_a_loaded_queue_goes_on_at_any_length(growth):
    q, other = queue(12, 4, growth), queue(12, 4, growth)
    for step in range(1, 6):
        q.enqueue(keys_of(step), step)
        other = queue(12, 4, growth)
        other.load_state_dict(q.state_dict())
        assert torch.equal(other.negatives(), q.negatives())
        assert torch.equal(other.ages(step), q.ages(step)) and other.count == q.count
