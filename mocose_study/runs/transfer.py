"""Transfer tasks: logistic regression on frozen embeddings (MoCoSE Table 2, SentEval).

Splits, features and strengths of the L2 penalty are SentEval's. `MR dev` is the
accuracy that chose the strength, `MR test` the one on rows that had no part in it, both
x 100. Without given splits (MR, CR, SUBJ, MPQA) both come from nested stratified
10-fold cross-validation. Deviation: the inner folds are the nine other outer ones.
SentEval draws ten anew.
"""

import logging
from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
from jaxtyping import Float, Int
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from mocose_lib import InputError
from mocose_lib.evaluation.sts import Benchmark, Encode, Table, cached

Rows = Float[np.ndarray, "n dim"]
Classes = Folds = Int[np.ndarray, " n"]  # 0, 1, ...
log = logging.getLogger(__name__)
COLUMNS = ("sentence", "sentence1", "sentence2")
FOLDS, SEED = 10, 1111  # SentEval's
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2)  # SentEval's, of the L2 penalty on a mean loss


def evaluate(encode: Encode, tasks: Benchmark) -> dict[str, float]:
    """Dev and test accuracy x 100 of each task.

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


@threadpool_limits.wrap(limits=1)  # with more, small products take ten times as long
def score(parts: Sequence[Rows], table: Table) -> dict[str, float]:
    """Dev and test accuracy x 100.

    `parts` has the vectors of each column. Raises InputError where they are not finite
    or all equal, or a class has too few rows.
    """
    x = features(parts)
    y = np.unique(np.asarray(table["label"]), return_inverse=True)[1]
    split = np.asarray(table["split"]).astype(str)
    if len(set(y[split != "test"])) < max(2, len(set(y))):
        raise InputError("rows to learn from need two classes, and all of the test's.")
    fold, tested, inner, unseen = plan(y, split)

    @cache
    def guess(strength: float, *left_out: int) -> Classes:
        """The class of each row, by a model that has seen no row of these folds."""
        seen = ~np.isin(fold, left_out)
        return fitted(x[seen], y[seen], strength).predict(x)

    def right(strength: float, scored: int, *left_out: int) -> float:
        return 100 * (guess(strength, *sorted(left_out)) == y)[fold == scored].mean()

    dev, test = [], []
    for last in tested:
        held = [i for i in inner if i != last]
        by = {c: np.mean([right(c, i, i, last) for i in held]) for c in STRENGTHS}
        best = max(by, key=by.get)
        dev.append(by[best])
        test.append(right(best, last, last, *unseen))
    return {"dev": float(np.mean(dev)), "test": float(np.mean(test))}


def features(parts: Sequence[Rows]) -> Float[np.ndarray, "n features"]:
    """Vectors of sentences, or SentEval's features of pairs; their mean is 0."""
    if not all(np.isfinite(part).all() for part in parts):
        raise InputError("an embedding holds NaN or infinity.")
    if all(np.ptp(part, axis=0).max() <= 1e-6 * abs(part).max() for part in parts):
        raise InputError("all embeddings are equal: nothing can be learnt from them.")
    x = parts[0]
    if len(parts) == 2:
        x = np.concatenate([abs(parts[0] - parts[1]), parts[0] * parts[1]], axis=1)
    return x - x.mean(0)  # a free intercept takes it up; float32 is exact enough then


def plan(y: Classes, split) -> tuple[Folds, Collection, Collection, Collection]:
    """The number of each row's fold, and three lists of folds.

    The first are tested, the second held out to choose the strength of the penalty.
    From the third the tested model must not learn, either.
    """
    if set(split) == {"all"}:
        return folds(y), range(FOLDS), range(FOLDS), ()
    if "dev" in split:
        return np.select([split == "train", split == "dev"], [0, 1], 2), [2], [1], [1]
    fold, train = np.full(len(y), FOLDS), split == "train"
    fold[train] = folds(y[train])
    return fold, [FOLDS], range(FOLDS), ()


def fitted(x: Rows, y: Classes, strength: float) -> LogisticRegression:
    """Minimises the mean cross-entropy + strength / 2 |weights|^2; intercepts are free.

    SentEval has a weight vector for each class, also of two. There scikit-learn has
    their difference, whose square is twice as large.
    """
    inverse = (2 if y.max() == 1 else 1) / (strength * len(x))
    return LogisticRegression(C=inverse, tol=1e-5, max_iter=1_000).fit(x, y)


def folds(y: Classes) -> Folds:
    """Number of the fold that holds each row out: SentEval's own stratified folds."""
    if (few := np.bincount(y).min()) < FOLDS:
        raise InputError(f"a class has {few} rows, fewer than the {FOLDS} folds.")
    fold = np.empty(len(y), int)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for i, (_, held) in enumerate(splitter.split(y, y)):
        fold[held] = i
    return fold
