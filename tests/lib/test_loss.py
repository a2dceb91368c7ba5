"""InfoNCE against the formula written as loops."""

import math

import pytest
import torch

from mocose_lib.loss import info_nce


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def unit(a):
    return [x / math.sqrt(dot(a, a)) for x in a]


def in_loops(query, keys, negatives, temperature, similarity, batch_negatives, own):
    rows = [x.tolist() for x in (query, keys, negatives)]
    if similarity == "cosine":
        rows = [[unit(row) for row in side] for side in rows]
    query, keys, negatives = rows
    total = 0.0
    for i, q in enumerate(query):
        others = [key for j, key in enumerate(keys) if batch_negatives and j != i]
        positive = math.exp(dot(q, keys[i]) / temperature)
        denominator = positive
        for j, other in enumerate((*negatives, *others)):
            weight = math.exp(own) if i == j else 1.0
            denominator += weight * math.exp(dot(q, other) / temperature)
        total += -math.log(positive / denominator)
    return total / len(query)


def vectors(batch=5, n=7, dim=4):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(rows, dim, generator=generator) for rows in (batch, batch, n)]


@pytest.mark.parametrize("batch_negatives", [False, True])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("temperature", [0.05, 1.0])
@pytest.mark.parametrize("own", [0.0, 1.5, -math.inf])
def test_equals_the_formula_in_loops(temperature, similarity, batch_negatives, own):
    """MoCoSE's equation 3; with own negatives SimCSE's equation 5."""
    arguments = (*vectors(), temperature, similarity, batch_negatives, own)
    assert info_nce(*arguments).item() == pytest.approx(in_loops(*arguments), rel=1e-4)


def test_by_hand():
    """q.k = 1, one orthogonal negative, temperature 1: -log(e / (e + 1)) = 0.31326."""
    q, n = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    assert info_nce(q, q, n, 1.0).item() == pytest.approx(0.31326, abs=1e-5)
    half = info_nce(q, q, n, 0.5).item()
    assert half == pytest.approx(0.12693, abs=1e-5)  # log(1 + exp(-2))
    assert info_nce(q, q, n[:0], 0.05).item() == 0.0  # no negative at all
    assert info_nce(1e4 * q, q, n, 0.05, "dot").isfinite()


def test_under_autocast_similarities_stay_in_float32():
    """A bf16 cosine has three digits; divided by 0.05 it is off by a tenth of a nat."""
    q, k, n = vectors(8, 64, 32)
    expected = info_nce(q, k, n, 0.05)
    with torch.autocast("cpu", torch.bfloat16):
        loss = info_nce(q, k, n, 0.05)
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=1e-6)


def test_a_wrong_shape_is_refused_while_testing():
    q, k, n = vectors()
    with pytest.raises(Exception, match="Type-check"):
        info_nce(q, k[:, :2], n, 0.05)
