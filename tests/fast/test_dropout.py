"""PackedDropout against what nn.Dropout promises."""

import math

import pytest
import torch
from torch import nn

from mocose_study.fast.dropout import PackedDropout, replace_dropout

N = 1 << 20


def dropped(p: float) -> torch.Tensor:
    torch.manual_seed(1)
    return (PackedDropout(p)(torch.ones(N)) == 0).float()


@pytest.mark.parametrize("p", [0.05, 0.1, 0.5, 0.9])
def test_the_rate_is_p_and_one_seed_gives_one_mask(p):
    assert dropped(p).mean() == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / N))
    assert torch.equal(dropped(p), dropped(p))


@pytest.mark.parametrize("apart", [1, 2, 3, 4, 128])
def test_values_are_dropped_independently_of_each_other(apart):
    """Within one 64-bit number, and across."""
    found = dropped(0.3)
    both = (found[:-apart] * found[apart:]).mean()
    assert both == pytest.approx(0.09, abs=6 * math.sqrt(0.09 * 0.91 / N))


@pytest.mark.parametrize("p", [0.1, 1 / 3, 0.5])
def test_kept_values_and_their_gradients_make_up_for_the_dropped_ones(p):
    torch.manual_seed(0)
    x = torch.randn(64, 33, requires_grad=True)
    y = PackedDropout(p)(x)
    y.sum().backward()
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / (1 - p), rtol=1e-4, atol=0)
    torch.testing.assert_close(x.grad, torch.where(kept, y / x, 0.0).detach())
    assert PackedDropout(p)(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize(("p", "training"), [(0.0, True), (0.5, False)])
def test_nothing_happens_without_training_or_rate(p, training):
    x = torch.randn(4)
    state = torch.get_rng_state()
    assert torch.equal(PackedDropout(p).train(training)(x), x)
    assert torch.equal(torch.get_rng_state(), state)


def test_replacing_keeps_rate_and_mode():
    model = nn.Sequential(nn.Dropout(0.3), nn.Sequential(nn.Dropout(0.2))).eval()
    replace_dropout(model, PackedDropout)
    found = [(type(m), m.p, m.training) for m in (model[0], model[1][0])]
    assert found == [(PackedDropout, 0.3, False), (PackedDropout, 0.2, False)]
