"""What choosing the best seeds does, against all resamples written out."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from mocose_study.claims import best_seeds

SEEDS = [70.0, 71.0, 73.0, 76.0]


def test_the_best_three_of_seven_by_hand():
    assert best_seeds.top_mean([1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0]) == pytest.approx(8.0)
    assert np.isnan(best_seeds.top_mean([1.0, 2.0]))
    both = best_seeds.top_mean(np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 4.0, 4.0, 0.0]]))
    assert both.tolist() == [3.0, 4.0]


def test_resampling_agrees_with_all_resamples():
    every = [np.mean(sorted(drawn)[-2:]) for drawn in product(SEEDS, repeat=4)]
    found = best_seeds.resampled(SEEDS, best=2)
    assert found.mean() == pytest.approx(np.mean(every), abs=0.05)
    assert found.std() == pytest.approx(np.std(every), abs=0.05)


def test_luck_is_the_distance_between_two_reports_of_one_system():
    every = [np.mean(sorted(drawn)[-2:]) for drawn in product(SEEDS, repeat=4)]
    apart = [abs(a - b) for a, b in product(every, repeat=2)]
    assert best_seeds.luck(SEEDS, best=2) == pytest.approx(np.quantile(apart, 0.95), abs=0.51)
    assert best_seeds.luck([5.0, 5.0, 5.0]) == 0.0


def test_the_table_has_all_seeds_and_the_best_ones():
    runs = pd.DataFrame({"label": ["a"] * 4 + ["b"], "score": [*SEEDS, 60.0]})
    table = best_seeds.table(runs, ["b", "a"], "score").set_index("point")
    assert table.loc["a", ["n", "mean", "top 3", "maximum"]].tolist() == [4, 72.5, 220 / 3, 76.0]
    assert table.loc["a", "top 3 − mean"] == pytest.approx(220 / 3 - 72.5)
    assert 0 < table.loc["a", "expected top 3 − mean"] < 220 / 3 - 70
    assert np.isnan(table.loc["b", "top 3"]) and table.index.tolist() == ["b", "a"]
