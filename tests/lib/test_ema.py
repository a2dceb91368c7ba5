"""The moving average and its schedule."""

import math

import pytest
import torch
from torch import nn

from mocose_lib.ema import decay_at, update_ema
from mocose_study.config import Config
from mocose_study.config.profiles import PRESETS


def pair(seed=0):
    torch.manual_seed(seed)
    first, second = (nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)) for _ in range(2))
    return first, second


def test_update_by_hand():
    target, online = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(target.weight, 2.0)
    nn.init.constant_(online.weight, 6.0)
    update_ema(target, online, 0.75)  # 0.75 * 2 + 0.25 * 6
    assert target.weight.item() == 3.0 and online.weight.item() == 6.0


@pytest.mark.parametrize("decay", [0.0, 0.85, 1.0])
def test_update_equals_plain_loops(decay):
    target, online = pair()
    expected = []
    for old, new in zip(target.parameters(), online.parameters(), strict=True):
        both = zip(old.flatten().tolist(), new.flatten().tolist(), strict=True)
        flat = [decay * a + (1 - decay) * b for a, b in both]
        expected.append(torch.tensor(flat).view_as(old))
    update_ema(target, online, decay)
    for found, want in zip(target.parameters(), expected, strict=True):
        torch.testing.assert_close(found, want)


def test_the_cosine_of_the_paper_by_hand():
    """0.75 -> 0.95 over 100 steps: half way it is the mean, and after 25 steps 0.75 + 0.2 (1 - cos 45)/2."""
    config = Config(**{**PRESETS["described"], "steps": 100})
    assert decay_at(50, config) == pytest.approx(0.85)
    assert decay_at(25, config) == pytest.approx(0.75 + 0.2 * (1 - math.sqrt(0.5)) / 2)
    assert decay_at(100, config) == pytest.approx(0.95)
    assert (
        decay_at(17, Config(ema_schedule="constant", ema_decay=0.6)) == 0.6
    )  # constant


def test_the_cosine_of_the_authors_code_as_they_write_it():
    config = Config(**{**PRESETS["code"], "steps": 15_625})
    for step in (0, 1, 100, 7_500, 14_999, 15_000, 15_625):
        expected = 1 - (1 - 0.75) * (math.cos(math.pi * step / 15_000) + 1) / 2
        assert decay_at(step, config) == pytest.approx(expected, abs=1e-12)
