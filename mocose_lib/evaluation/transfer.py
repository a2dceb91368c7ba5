"""Transfer tasks: logistic regression on frozen embeddings (MoCoSE Table 2, SentEval).

Splits, features and strengths of the L2 penalty are SentEval's. `MR dev` is the accuracy that
chose the strength, `MR test` the accuracy on rows that had no part in it, both x 100. Without
given splits (MR, CR, SUBJ, MPQA) both come from nested stratified 10-fold cross-validation.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from ..settings import InputError
from .sts import Encode, Table, cached

log = logging.getLogger(__name__)
COLUMNS = ("sentence", "sentence1", "sentence2")
FOLDS = 10
SEED = 1111  # SentEval's, of its folds
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2)  # SentEval's, of the L2 penalty on a mean loss
Rows = Float[np.ndarray, "n dim"]
Classes = Int[np.ndarray, " n"]  # 0, 1, ...
Masks = Bool[np.ndarray, "masks n"]
Guesses = Int[np.ndarray, "masks strengths n"]
Fit = Callable[..., Guesses]


def fit_predict(
    x: Rows, y: Classes, masks: Masks, strengths: Sequence[float]
) -> Guesses:
    """Classes guessed for all rows by models trained on the rows of each mask.

    Every model minimises its mean cross-entropy + strength / 2 |weights|^2.
    """
    share = (
        2 if y.max() == 1 else 1
    )  # SentEval's network has a weight vector for each class

    def guess(mask, strength):
        model = LogisticRegression(C=share / (strength * mask.sum()), max_iter=500)
        return model.fit(x[mask], y[mask]).predict(x)

    return np.array(
        [[guess(mask, strength) for strength in strengths] for mask in masks]
    )


def evaluate(
    encode: Encode, tasks: Mapping[str, Table], fit=fit_predict
) -> dict[str, float]:
    """Dev and test accuracy x 100 of every task (and F1 of tasks of pairs).

    Columns: split ("all", or "train", "test" and perhaps "dev"), label, and sentence or sentence1 and
    sentence2. A task that cannot be measured gives NaN, and the log says why. `fit` may be faster.
    """
    encode, scores = cached(encode), {}
    texts = {
        task: [table[c] for c in COLUMNS if c in table] for task, table in tasks.items()
    }
    encode(
        [
            sentence
            for columns in texts.values()
            for column in columns
            for sentence in column
        ]
    )
    for task, table in tasks.items():
        try:
            found = score([encode(column) for column in texts[task]], table, fit)
        except InputError as cause:
            log.warning("transfer task %s is left out: %s", task, cause)
            found = {"dev": np.nan, "test": np.nan}
        scores |= {f"{task} {what}": value for what, value in found.items()}
    return scores


def score(
    parts: Sequence[Rows], table: Table, fit: Fit = fit_predict
) -> dict[str, float]:
    """dev, test and, for pairs of two classes, test F1 of the last, x 100, from each column's rows.

    Raises InputError where they are not finite or all equal, or a class has too few rows.
    """
    if not all(np.isfinite(part).all() for part in parts):
        raise InputError("an embedding holds NaN or infinity.")
    if all(np.ptp(part, axis=0).max() <= 1e-6 * abs(part).max() for part in parts):
        raise InputError(
            "all embeddings are equal, so that nothing can be learnt from them."
        )
    x = parts[0]
    if len(parts) == 2:  # SentEval's features of a pair
        x = np.concatenate([abs(parts[0] - parts[1]), parts[0] * parts[1]], axis=1)
    y = np.unique(np.asarray(table["label"]), return_inverse=True)[1]
    split = np.asarray(table["split"]).astype(str)
    if len(set(y[split != "test"])) < max(2, len(set(y))):
        raise InputError(
            "the rows to learn from need two classes, and all that the test has."
        )
    if set(split) == {"all"}:
        return _cross_validated(x, y, fit)
    dev, guess = _given_test(x, y, split, fit)
    f1 = len(parts) == 2 and y.max() == 1  # two classes
    guess, y = guess[split == "test"], y[split == "test"]
    found = {"dev": dev, "test": 100 * float((guess == y).mean())}
    return found | ({"test F1": 100 * float(f1_score(y, guess))} if f1 else {})


def folds(y: Classes) -> Int[np.ndarray, " n"]:
    """Number of the fold that holds each row out: SentEval's own stratified folds."""
    if (smallest := np.bincount(y).min()) < FOLDS:
        raise InputError(
            f"a class has {smallest} rows; {FOLDS} folds need as many at least."
        )
    fold = np.empty(len(y), int)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for i, (_, held) in enumerate(splitter.split(y, y)):
        fold[held] = i
    return fold


def _cross_validated(x: Rows, y: Classes, fit: Fit) -> dict[str, float]:
    """The strength for outer fold i is chosen on the other folds j by models that saw neither.

    Such a model serves (i, j) and (j, i), which halves SentEval's inner fits.
    """
    fold = folds(y)
    pairs = list(combinations(range(FOLDS), 2))
    held = pairs + [(i,) for i in range(FOLDS)]
    right = fit(x, y, np.array([~np.isin(fold, h) for h in held]), STRENGTHS) == y
    inner = np.full((FOLDS, FOLDS, len(STRENGTHS)), np.nan)
    for k, (i, j) in enumerate(pairs):
        inner[i, j] = right[k][:, fold == j].mean(1)
        inner[j, i] = right[k][:, fold == i].mean(1)
    inner = np.nanmean(inner, axis=1)  # (outer fold, strength)
    best = inner.argmax(1)
    outer = [right[len(pairs) + i, best[i], fold == i].mean() for i in range(FOLDS)]
    return {
        "dev": 100 * float(inner.max(1).mean()),
        "test": 100 * float(np.mean(outer)),
    }


def _given_test(
    x: Rows, y: Classes, split: np.ndarray, fit: Fit
) -> tuple[float, np.ndarray]:
    """Dev accuracy x 100 ("dev" rows, else cross-validated) and the guessed class of all rows."""
    train, held = split == "train", [split == "dev"]
    if not held[0].any():
        fold = np.full(len(y), -1)
        fold[train] = folds(y[train])
        held = [fold == i for i in range(FOLDS)]
    whole = (
        [train] if len(held) > 1 else []
    )  # with "dev" rows the first mask is that already
    guess = fit(x, y, np.array([train & ~part for part in held] + whole), STRENGTHS)
    chosen = np.mean(
        [(guess[i] == y)[:, part].mean(1) for i, part in enumerate(held)], axis=0
    )
    return 100 * float(chosen.max()), guess[-1, chosen.argmax()]
