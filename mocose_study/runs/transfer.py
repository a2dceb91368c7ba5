"""Transfer tasks: logistic regression on frozen embeddings (MoCoSE Table 2, SentEval).

Splits, features and strengths of the L2 penalty are SentEval's. `MR dev` is the
accuracy that chose the strength, `MR test` the one on rows that had no part in it, both
x 100. Without given splits (MR, CR, SUBJ, MPQA) both come from nested stratified
10-fold cross-validation. Deviation: the inner folds are the nine other outer ones.
SentEval draws ten anew.
"""

import logging
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from mocose_lib import InputError
from mocose_lib.evaluation.sts import Benchmark, Encode, Table, cached
from mocose_study.fast.logistic import Classes, Rows, fit_predict

log = logging.getLogger(__name__)
COLUMNS = ("sentence", "sentence1", "sentence2")
FOLDS, SEED = 10, 1111  # SentEval's
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2)  # SentEval's, of the L2 penalty on a mean loss


def evaluate(encode: Encode, tasks: Benchmark) -> dict[str, float]:
    """Dev and test accuracy x 100 of each task, and F1 of pairs of two classes.

    Columns: split ("all", or "train", "test" and perhaps "dev"), label, and sentence or
    sentence1 and sentence2. A task that cannot be measured gives NaN, and the log says
    why.
    """
    encode, scores = cached(encode), {}
    texts = {t: [table[c] for c in COLUMNS if c in table] for t, table in tasks.items()}
    encode([s for columns in texts.values() for column in columns for s in column])
    for task, table in tasks.items():
        try:
            measured = score([encode(column) for column in texts[task]], table)
        except InputError as cause:
            log.warning("transfer task %s is left out: %s", task, cause)
            measured = {"dev": np.nan, "test": np.nan}
        scores |= {f"{task} {what}": value for what, value in measured.items()}
    return scores


def score(parts: Sequence[Rows], table: Table) -> dict[str, float]:
    """dev, test and, for pairs of two classes, test F1 of the last, all x 100.

    `parts` has the vectors of each column. Raises InputError where they are not finite
    or all equal, or a class has too few rows.
    """
    if not all(np.isfinite(part).all() for part in parts):
        raise InputError("an embedding holds NaN or infinity.")
    if all(np.ptp(part, axis=0).max() <= 1e-6 * abs(part).max() for part in parts):
        raise InputError("all embeddings are equal: nothing can be learnt from them.")
    x = parts[0]
    if len(parts) == 2:  # SentEval's features of a pair
        x = np.concatenate([abs(parts[0] - parts[1]), parts[0] * parts[1]], axis=1)
    y = np.unique(np.asarray(table["label"]), return_inverse=True)[1]
    split = np.asarray(table["split"]).astype(str)
    if len(set(y[split != "test"])) < max(2, len(set(y))):
        raise InputError("rows to learn from need two classes, and all of the test's.")
    if set(split) == {"all"}:
        fold = folds(y)
        each = [[fold == j for j in range(FOLDS) if j != i] for i in range(FOLDS)]
        fits = [chosen(x, y, fold != i, held) for i, held in enumerate(each)]
        right = [(guess == y)[fold == i].mean() for i, (_, guess) in enumerate(fits)]
        both = {"dev": [accuracy for accuracy, _ in fits], "test": right}
        return {split: 100 * float(np.mean(each)) for split, each in both.items()}
    train, test, held = split == "train", split == "test", [split == "dev"]
    if not held[0].any():
        fold = np.full(len(y), -1)
        fold[train] = folds(y[train])
        held = [fold == i for i in range(FOLDS)]
    dev, guess = chosen(x, y, train, held)
    truth, guess = y[test], guess[test]
    scores = {"dev": 100 * dev, "test": 100 * float((guess == truth).mean())}
    if len(parts) == 2 and y.max() == 1:
        scores["test F1"] = 100 * float(f1_score(truth, guess))
    return scores


def chosen(x: Rows, y: Classes, train: np.ndarray, held: Sequence[np.ndarray]):
    """Dev accuracy of the best strength, and the class it guesses for each row.

    The strength is best on the rows `held` out, one set after the other.
    """
    masks = np.array([*(train & ~rows for rows in held), train])
    guess = fit_predict(x, y, masks, STRENGTHS)
    right = [(guess[i] == y)[:, rows].mean(1) for i, rows in enumerate(held)]
    accuracy = np.mean(right, axis=0)
    return float(accuracy.max()), guess[-1, accuracy.argmax()]


def folds(y: Classes) -> Int[np.ndarray, " n"]:
    """Number of the fold that holds each row out: SentEval's own stratified folds."""
    if (few := np.bincount(y).min()) < FOLDS:
        raise InputError(f"a class has {few} rows, fewer than the {FOLDS} folds.")
    fold = np.empty(len(y), int)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for i, (_, held) in enumerate(splitter.split(y, y)):
        fold[held] = i
    return fold
