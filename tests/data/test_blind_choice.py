"""893 of the 1,500 pairs of STS-B dev occur word for word in STS12 to STS16."""

import pandas as pd

from mocose_study.data import benchmarks


def test_dev_pairs_that_occur_in_a_test_set_are_left_out(monkeypatch):
    pairs = {"sentence1": ["a", "b", "c"], "sentence2": ["d", "e", "f"], "score": [1.0, 2.0, 3.0]}
    test = pd.DataFrame({"sentence1": ["e"], "sentence2": ["b"], "score": [4.0]})
    monkeypatch.setattr(benchmarks, "dev_tables", lambda *_: {"own dev": pd.DataFrame(pairs)})
    monkeypatch.setattr(benchmarks, "test_tables", lambda *_: {"own test": test})
    assert list(benchmarks.blind_tables("own")["own dev"]["sentence1"]) == ["a", "c"]


def test_607_pairs_of_stsb_dev_are_in_no_test_set(real_data):
    assert len(benchmarks.dev_tables("real")["STS-B dev"]) == 1500
    assert len(benchmarks.blind_tables("real")["STS-B dev"]) == 1500 - 893
