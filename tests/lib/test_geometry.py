"""Geometry against plain loops and values by hand."""

import math

import numpy as np
import pytest

from mocose_lib.evaluation import geometry as g


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(23, 7)) + 0.5


def rows(x):
    return [[v / math.sqrt(sum(w * w for w in row)) for v in row] for row in x.tolist()]


def square(a, b):
    return sum((p - q) ** 2 for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize("t", [1.0, 2.0])
def test_alignment_uniformity_and_mean_cosine_are_the_loops(x, t):
    u, v = rows(x), rows(x[::-1])
    loop = sum(square(a, b) for a, b in zip(u, v, strict=True)) / len(x)
    assert g.alignment(x, x[::-1]) == pytest.approx(loop, abs=1e-12)
    pairs = [(u[i], u[j]) for i in range(len(u)) for j in range(i)]
    loop = math.log(sum(math.exp(-t * square(a, b)) for a, b in pairs) / len(pairs))
    assert g.uniformity(x, t) == pytest.approx(loop, abs=1e-10)
    loop = sum(p * q for a, b in pairs for p, q in zip(a, b, strict=True)) / len(pairs)
    assert g.mean_cosine(x) == pytest.approx(loop, abs=1e-12)


def test_values_worked_out_by_hand():
    three = np.array([[1.0, 0.0], [0.0, 5.0], [-2.0, 0.0]])  # east, north, west
    # right angle: |a - b|^2 = 2; opposite: 4
    assert g.alignment(three[[0, 0]], three[1:]) == pytest.approx(3.0)
    # three pairs: 2, 2, 4 -> log((e^-4 + e^-4 + e^-8) / 3)
    expected = math.log((2 * math.exp(-4) + math.exp(-8)) / 3)
    assert g.uniformity(three) == pytest.approx(expected)
    assert g.mean_cosine(three) == pytest.approx(-1 / 3)
    # singular values 4 and 2 -> 1 and 1/2; shares 2/3, 1/3: entropy log 3 - 2/3 log 2
    assert g.singular_values(np.diag([2.0, 4.0])) == pytest.approx([1.0, 0.5])
    assert g.effective_rank(np.diag([2.0, 4.0])) == pytest.approx(3 / 2 ** (2 / 3))
    assert g.effective_rank(np.eye(5)) == pytest.approx(5)


def test_one_row_has_no_pairs_and_equal_rows_have_rank_one():
    one, none, same = np.ones((1, 4)), np.ones((0, 4)), np.ones((5, 4), np.float32)
    undefined = g.uniformity(one), g.mean_cosine(one), g.alignment(none, none)
    assert all(map(math.isnan, undefined))
    assert g.uniformity(same) == pytest.approx(0, abs=1e-10)
    assert (g.mean_cosine(same), g.effective_rank(same)) == pytest.approx((1, 1))


@pytest.mark.parametrize("bad", [np.nan, 0.0])
def test_nan_and_zero_vectors_give_nan_and_no_exception(x, bad):
    x[3] = bad
    assert all(map(math.isnan, (g.uniformity(x), g.mean_cosine(x), g.alignment(x, x))))
    x[:] = bad
    assert np.isnan(g.singular_values(x)).all() and math.isnan(g.effective_rank(x))
