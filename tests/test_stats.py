"""Intervals and tests against plain loops, hand-worked values, and simulations of known truth."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from mocose_study.config import InputError
from mocose_study.claims.stats import (
    Interval,
    _ranks,
    compare,
    holm,
    interval,
    iqm,
    paired,
    resampled,
    sign_flip,
    variance_sources,
)


def coverage(rng, draw, truth, n, studies, **options):
    """Share of simulated studies whose interval holds the truth."""
    found = [interval(draw(rng, n), **options) for _ in range(studies)]
    return np.mean([x.low <= truth <= x.high for x in found])


POPULATIONS = {
    "normal": (lambda rng, n: rng.normal(70, 0.8, n), 70),
    "heavy tails": (lambda rng, n: rng.standard_t(5, n), 0),
}


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("n", [5, 10, 50])
def test_default_interval_covers_the_truth_at_the_studys_n(population, n):
    draw, truth = POPULATIONS[population]
    share = coverage(np.random.default_rng(n), draw, truth, n, studies=2_000)
    assert 0.93 <= share <= 0.97


def test_bca_is_too_narrow_at_five_seeds():
    draw, truth = POPULATIONS["normal"]
    share = coverage(np.random.default_rng(5), draw, truth, 5, studies=250, method="bca")
    assert share < 0.92


def test_t_interval_by_hand():
    # 1 2 3 4 5: mean 3, variance 2.5, standard error sqrt(0.5), t(0.975, 4) = 2.776445
    x = interval([1, 2, 3, 4, 5])
    assert (x.mean, x.n) == (3, 5)
    assert x.low == pytest.approx(3 - 2.776445 * math.sqrt(0.5), abs=1e-5)
    assert x.high == pytest.approx(3 + 2.776445 * math.sqrt(0.5), abs=1e-5)


def test_bca_interval_is_seeded_and_agrees_with_its_formula():
    values = np.random.default_rng(0).normal(70, 1, 40)
    x = interval(values, method="bca", seed=3)
    assert x == interval(values, method="bca", seed=3) != interval(values, method="bca", seed=4)
    rng, mean = np.random.default_rng(1), values.mean()
    boot = np.sort([rng.choice(values, 40).mean() for _ in range(5_000)])
    z0 = scipy_stats.norm.ppf((boot < mean).mean())
    left_out = np.array([np.delete(values, i).mean() for i in range(40)])
    u = left_out.mean() - left_out
    a = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
    for end, q in [(x.low, 0.025), (x.high, 0.975)]:
        z = z0 + scipy_stats.norm.ppf(q)
        expected = np.quantile(boot, scipy_stats.norm.cdf(z0 + z / (1 - a * z)))
        assert end == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("method", ["t", "bca"])
def test_interval_of_degenerate_values(method):
    none, one = interval([], method=method), interval([70.5], method=method)
    assert none.n == 0 and math.isnan(none.mean) and math.isnan(none.low)
    assert (one.mean, one.n) == (70.5, 1) and math.isnan(one.low) and math.isnan(one.high)
    assert interval([0.1] * 6, method=method) == Interval(0.1, 0.1, 0.1, 6)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"values": [1, math.nan]}, "finite"),
        ({"values": [[1, 2]]}, "flat"),
        ({"values": [1, 2], "method": "normal"}, "method"),
        ({"values": [1, 2], "level": 95}, "level"),
    ],
)
def test_interval_refuses(arguments, word):
    with pytest.raises(InputError, match=word):
        interval(**arguments)


def test_iqm_by_hand():
    assert iqm([5, 1, 100, 3, 4]) == 4  # 1 and 100 are cut
    assert iqm([1, 2, 3, 4, 5, 6, 7, 80]) == 4.5
    assert iqm([7]) == 7 and math.isnan(iqm([]))


def sign_flip_by_loop(d):
    flipped = [
        sum(s * x for s, x in zip(signs, d, strict=True))
        for signs in itertools.product([1, -1], repeat=len(d))
    ]
    return sum(abs(f) >= abs(sum(d)) - 1e-9 for f in flipped) / len(flipped)


@pytest.mark.parametrize(
    "d", [[1.0, 2, 3, 4, 5], [0.3, -0.1, 0.2, 0.4], [0.1, 0.2, -0.3], [1, 0, 0, 2], [0, 0], [3]]
)
def test_sign_flip_lists_every_pattern(d):
    assert sign_flip(d) == sign_flip_by_loop(d)


def test_sign_flip_agrees_with_scipy():
    d = np.random.default_rng(2).normal(0.5, 1, 10)
    other = scipy_stats.permutation_test(
        (d, -d), lambda x, y, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True
    )
    assert sign_flip(d) == pytest.approx(other.pvalue)


def test_sign_flip_cannot_reach_five_per_cent_with_five_seeds():
    assert sign_flip([100, 101, 99, 100, 100]) == 2 / 32
    assert sign_flip([100] * 6) == 2 / 64
    assert math.isnan(sign_flip([]))


def test_sign_flip_drawn_patterns_are_seeded_and_never_give_zero():
    d = np.full(30, 2.0)
    assert sign_flip(d) == 1 / 10_000
    d = np.random.default_rng(3).normal(0.3, 1, 17)
    assert sign_flip(d, seed=1) == sign_flip(d, seed=1)
    t_test = scipy_stats.ttest_1samp(d, 0).pvalue
    assert sign_flip(d) == pytest.approx(t_test, abs=0.02)


@pytest.mark.parametrize(("n", "studies"), [(12, 1_500), (20, 700)])
def test_sign_flip_p_values_are_uniform_under_the_null(n, studies):
    """Symmetric differences of unequal spread; the steps, 1/2048 and 1/1000, are far below KS's."""
    rng = np.random.default_rng(n)
    spread = np.linspace(0.5, 2, n)
    p = [sign_flip(rng.normal(0, spread), draws=999, seed=i) for i in range(studies)]
    assert scipy_stats.kstest(p, "uniform").pvalue > 0.05


def test_holm_by_hand():
    # sorted 0.005 0.01 0.03 0.04 -> 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 raised to 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == pytest.approx([1, 1])
    assert holm([0.2]) == pytest.approx([0.2]) and len(holm([])) == 0


def test_holm_counts_planned_comparisons():
    adjusted = holm([0.01, math.nan, 0.02])
    assert adjusted[[0, 2]] == pytest.approx([0.03, 0.04]) and math.isnan(adjusted[1])


def test_holm_agrees_with_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(0).uniform(0, 0.2, 12)
    assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])


def test_holm_refuses_what_is_no_probability():
    with pytest.raises(InputError, match="0 to 1"):
        holm([0.1, 1.5])


def test_compare_pairs_by_seed():
    a, b = {0: 70.0, 1: 72.0, 2: 74.0, 9: 1.0}, {2: 73.0, 1: 71.0, 0: 69.5}
    assert paired(a, b) == pytest.approx([0.5, 1, 1])
    x = compare(a, b)
    assert (x.effect, x.n, x.p) == (pytest.approx(2.5 / 3), 3, 2 / 8)
    unpaired_half_width = 4.30 * np.std([70, 72, 74], ddof=1) / math.sqrt(3)
    assert x.high - x.low < unpaired_half_width  # what the seeds share has cancelled
    assert compare([70.0, 72.0, 74.0], [69.5, 71.0, 73.0]) == x
    with pytest.raises(InputError, match="cannot be paired"):
        compare([1, 2, 3], [1, 2])


def test_ranks_of_resamples_are_scipys_midranks():
    rng = np.random.default_rng(4)
    values = rng.integers(0, 6, 30) / 5
    index = rng.integers(0, 30, (20, 30))
    for row, ranks in zip(index, _ranks(values, index), strict=True):
        assert ranks == pytest.approx(scipy_stats.rankdata(values[row]))


def test_resampled_differences_are_a_paired_bootstrap():
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 26, 60) / 5
    a, b = gold + rng.normal(0, 1, 60), gold + rng.normal(0, 3, 60)
    drawn = np.random.default_rng(3).integers(0, 60, (300, 60))
    for scores in (a, b):
        loop = [100 * scipy_stats.spearmanr(gold[row], scores[row]).statistic for row in drawn]
        assert resampled(gold, scores, 300, seed=3) == pytest.approx(np.array(loop))


def test_resamples_do_not_depend_on_how_many_are_held_at_once(monkeypatch):
    gold, a = np.arange(20.0), np.random.default_rng(6).normal(size=20)
    whole = resampled(gold, a, 100)
    monkeypatch.setattr("mocose_study.claims.stats.BLOCK", 60)
    assert (resampled(gold, a, 100) == whole).all()


def test_resamples_cover_the_true_difference():
    """Gaussian pairs of correlation r have the Spearman correlation 6 / pi asin(r / 2)."""
    rng = np.random.default_rng(7)
    r_a, r_b = 0.8, 0.7
    truth = 100 * 6 / math.pi * (math.asin(r_a / 2) - math.asin(r_b / 2))
    held = []
    for study in range(600):
        gold, noise_a, noise_b = rng.normal(size=(3, 250))
        a, b = (
            resampled(gold, r * gold + math.sqrt(1 - r * r) * e, 300, seed=study)
            for r, e in ((r_a, noise_a), (r_b, noise_b))
        )
        low, high = np.quantile(a - b, [0.025, 0.975])
        held.append(low <= truth <= high)
    assert 0.93 <= np.mean(held) <= 0.97


def test_resamples_of_what_has_no_correlation_are_nan():
    assert np.isnan(resampled([1, 2, 3], [5, 5, 5], 4)).all()
    assert np.isnan(resampled([1, 2, 3], [5, math.nan, 5], 4)).all()


@pytest.mark.parametrize(("gold", "word"), [([1, 2], "3 values for 2"), ([1, 2, math.inf], "gold")])
def test_resampled_refuses(gold, word):
    with pytest.raises(InputError, match=word):
        resampled(gold, [1, 2, 3], 5)


def test_variance_sources_by_hand():
    # seeds: squares 1 + 0 + 1, variance 1, over n = 3; resamples: squares 4 + 0 + 4, over n - 1
    x = variance_sources([69, 70, 71], [68, 70, 72])
    assert (x.seeds, x.pairs) == pytest.approx((1 / math.sqrt(3), 2.0))
    assert math.isnan(variance_sources([70], [70, 71]).seeds)
    assert math.isnan(variance_sources([70, 71], []).pairs)
