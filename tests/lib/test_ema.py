"""The schedule of the moving average; test_whole_step has the average itself."""

import math

import pytest

from mocose_lib import Settings
from mocose_lib.ema import decay_at


def test_the_cosine_of_the_paper_by_hand():
    """0.75 to 0.95 over 100 steps; after 25 of them 0.75 + 0.2 (1 - cos 45) / 2."""
    settings = Settings(steps=100)
    assert decay_at(50, settings) == pytest.approx(0.85)
    assert decay_at(25, settings) == pytest.approx(0.75 + 0.2 * (1 - 0.5**0.5) / 2)
    decays = [decay_at(step, settings) for step in range(101)]
    assert decays == sorted(decays) and (decays[0], decays[-1]) == (0.75, 0.95)
    assert decay_at(17, Settings(ema_decay=0.6)) == 0.6


def test_the_cosine_of_the_authors_code_turns_back():
    """It reaches 1 at step 15,000, and is back at 0.9989 at the end of their run."""
    settings = Settings(ema_decay=(0.75, 1.0), ema_horizon=0.96, steps=15_625)
    for step in (0, 1, 100, 7_500, 14_999, 15_000, 15_625):
        expected = 1 - (1 - 0.75) * (math.cos(math.pi * step / 15_000) + 1) / 2
        assert decay_at(step, settings) == pytest.approx(expected, abs=1e-12)
    assert decay_at(15_625, settings) == pytest.approx(0.9989, abs=5e-5)
    assert decay_at(30_000, settings) == pytest.approx(0.75)
