"""Augmentations of the word embeddings: pure functions, checked in loops."""

import pytest
import torch
from texts import generator

from mocose_lib import augment
from mocose_lib.fgsm import moved

LENGTHS = torch.tensor([9, 5, 3, 8, 9, 4])
MASK = torch.arange(9)[None] < LENGTHS[:, None]


def words():
    return torch.randn(6, 9, 10, generator=generator(5)) + 10  # no zero by chance


def test_fgsm_by_hand():
    x = torch.tensor([[[1.0, 2.0, 3.0]]])
    gradient = torch.tensor([[[0.2, -7.0, 0.0]]])
    assert moved(x, gradient, 0.5).flatten().tolist() == [1.5, 1.5, 3.0]
    assert moved(x, None, 1.0) is x and moved(x, x, 0.0) is x


@pytest.mark.parametrize("shape", [(4, 9, 10), (6, 5, 10), (8, 12, 10)])
def test_another_batchs_gradient_is_cut_or_filled_with_zeros(shape):
    gradient, expected = words(), torch.zeros(shape)
    for row in range(min(6, shape[0])):
        for place in range(min(9, shape[1])):
            expected[row, place] = gradient[row, place].sign()
    assert torch.equal(moved(torch.zeros(shape), gradient, 1.0), expected)


def test_shuffled_positions_permute_the_real_tokens_evenly_and_keep_the_padding():
    drawn = augment.shuffled_positions(MASK, generator())
    for row, n in zip(drawn, LENGTHS.tolist(), strict=True):
        assert sorted(row[:n].tolist()) == list(range(n))
        assert row[n:].tolist() == list(range(n, 9))
    drawn = augment.shuffled_positions(torch.ones(6_000, 3).bool(), generator())
    _, counts = drawn.unique(dim=0, return_counts=True)
    assert len(counts) == 6  # within 5 standard deviations, which are 144
    assert (counts - 1_000).abs().max() < 150


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.99])
def test_cutoffs_zero_so_many_real_tokens_and_so_many_features_of_all_tokens(rate):
    x = words()
    cut = augment.token_cutoff(x, MASK, rate, generator())
    for row, n in enumerate(LENGTHS.tolist()):
        gone = (cut[row] == 0).all(1)
        assert gone.sum() == max(1, int(n * torch.tensor(rate)))
        assert not gone[n:].any() and torch.equal(cut[row][~gone], x[row][~gone])
    cut = augment.feature_cutoff(x, rate, generator())
    for row in range(6):
        gone = (cut[row] == 0).all(0)
        assert gone.sum() == max(1, int(rate * 10))
        assert torch.equal(cut[row][:, ~gone], x[row][:, ~gone])


DRAWS = {
    "token_cutoff": lambda x, g, rate: augment.token_cutoff(x, MASK, rate, g),
    "feature_cutoff": lambda x, g, rate: augment.feature_cutoff(x, rate, g),
    "shuffled_positions": lambda x, g, rate: augment.shuffled_positions(MASK, g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_follows_its_generator_differs_by_row_and_changes_no_input(name):
    x, draw = words(), DRAWS[name]
    first = draw(x, generator(1), 0.3)
    assert torch.equal(first, draw(x, generator(1), 0.3))
    assert not torch.equal(first, draw(x, generator(2), 0.3))
    assert torch.equal(x, words())
    if name != "shuffled_positions":
        assert len((first == 0).unique(dim=0)) > 1
        assert draw(x, generator(), 0.0) is x
