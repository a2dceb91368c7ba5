"""Augmentations of the word embeddings: pure functions, checked in loops."""

import pytest
import torch
from texts import generator

from mocose_lib import augment
from mocose_lib.fgsm import moved


def words(batch=6, length=9, dim=10):
    return (
        torch.randn(batch, length, dim, generator=generator(5)) + 10
    )  # no zero by chance


def mask(batch=6, length=9):
    lengths = torch.tensor([9, 5, 3, 8, 9, 4])[:batch]
    return torch.arange(length)[None] < lengths[:, None]


def test_fgsm_equals_loops_and_a_value_by_hand():
    x = torch.tensor([[[1.0, 2.0, 3.0]]])
    gradient = torch.tensor([[[0.2, -7.0, 0.0]]])
    assert moved(x, gradient, 0.5).flatten().tolist() == [1.5, 1.5, 3.0]
    assert moved(x, None, 1.0) is x and moved(x, x, 0.0) is x
    big, slope = words(), words() - 10
    found = moved(big, slope, 0.25).flatten().tolist()
    for value, old, g in zip(found, big.flatten(), slope.flatten(), strict=True):
        expected = old.item() + 0.25 * (int(g > 0) - int(g < 0))
        assert value == pytest.approx(expected, abs=1e-5)


def test_fgsm_goes_uphill():
    """The perturbed input has a larger loss than the input, and than its opposite."""
    x = words().requires_grad_()

    def loss(z):
        return (z.sin() ** 2).sum()

    gradient = torch.autograd.grad(loss(x), x)[0]
    assert loss(moved(x, gradient, 1e-3)) > loss(x) > loss(moved(x, gradient, -1e-3))


@pytest.mark.parametrize("shape", [(4, 9, 10), (6, 5, 10), (8, 12, 10)])
def test_another_batchs_gradient_is_cut_or_filled_with_zeros(shape):
    gradient = words()
    found = moved(torch.zeros(shape), gradient, 1.0)
    for row in range(shape[0]):
        for place in range(shape[1]):
            inside = row < 6 and place < 9
            expected = gradient[row, place].sign() if inside else torch.zeros(10)
            assert torch.equal(found[row, place], expected)


def test_shuffled_positions_permute_the_real_tokens_evenly_and_keep_the_padding():
    found = augment.shuffled_positions(mask(), generator())
    for row, real in zip(found, mask(), strict=True):
        n = int(real.sum())
        assert sorted(row[:n].tolist()) == list(range(n))
        assert row[n:].tolist() == list(range(n, len(row)))
    three = torch.ones(6_000, 3, dtype=torch.bool)
    _, counts = augment.shuffled_positions(three, generator()).unique(
        dim=0, return_counts=True
    )
    assert (
        len(counts) == 6 and (counts - 1_000).abs().max() < 150
    )  # 5 standard deviations: 144


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.99])
def test_cutoffs_zero_so_many_real_tokens_and_so_many_features_of_all_tokens(rate):
    x, real = words(), mask()
    found = augment.token_cutoff(x, real, rate, generator())
    for row in range(len(x)):
        n = int(real[row].sum())
        gone = [i for i in range(x.shape[1]) if (found[row, i] == 0).all()]
        assert len(gone) == max(1, int(n * torch.tensor(rate))) and all(
            real[row, i] for i in gone
        )
        for i in set(range(x.shape[1])) - set(gone):
            assert torch.equal(found[row, i], x[row, i])
    found = augment.feature_cutoff(x, rate, generator())
    for row in range(len(x)):
        gone = [j for j in range(x.shape[2]) if (found[row, :, j] == 0).all()]
        assert len(gone) == max(1, int(rate * x.shape[2]))
        assert int((found[row] == 0).sum()) == len(gone) * x.shape[1]


DRAWS = {
    "token_cutoff": lambda x, g, rate: augment.token_cutoff(x, mask(), rate, g),
    "feature_cutoff": lambda x, g, rate: augment.feature_cutoff(x, rate, g),
    "shuffled_positions": lambda x, g, rate: augment.shuffled_positions(mask(), g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_follows_its_generator_differs_by_row_and_changes_no_input(name):
    x = words()
    first = DRAWS[name](x, generator(1), 0.3)
    assert torch.equal(first, DRAWS[name](x, generator(1), 0.3))
    assert not torch.equal(first, DRAWS[name](x, generator(2), 0.3))
    assert torch.equal(x, words())
    if name != "shuffled_positions":
        assert len((first == 0).unique(dim=0)) > 1
        assert DRAWS[name](x, generator(), 0.0) is x
