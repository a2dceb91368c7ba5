"""Transfer tasks: logistic regression on frozen embeddings (MoCoSE Table 2, SentEval).

SentEval's splits, features and strengths of the L2 penalty. Every number's name says where it
was measured: `MR dev` is the accuracy that chose the strength, `MR test` the accuracy on rows
that had no part in it. All values are x 100. Where no split is given (MR, CR, SUBJ, MPQA), both
come from stratified 10-fold cross-validation, the choice being made by an inner one.
"""

import logging
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.model_selection import StratifiedKFold

from . import tasks
from .config import StudyError
from .logistic import fit_predict
from .sts import Encode, remembering

log = logging.getLogger(__name__)
AVERAGE = "transfer_avg"  # mean test accuracy of the tasks
DEV_AVERAGE = "transfer_dev_avg"  # mean dev accuracy: the column the published code reports
FOLDS = 10
SEED = 1111  # SentEval's, of its folds
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2)  # SentEval's, of the L2 penalty on a mean loss


def evaluate(encode: Encode, benchmark: str) -> dict[str, float]:
    """Dev and test accuracy x 100 of every task (and F1 of paraphrase), with their averages.

    A task that cannot be measured (no file, NaN or all-equal embeddings) gives NaN, so do then
    the averages, and the log says why; the other tasks keep their numbers.
    """
    frames = {task: _attempt(task, tasks.transfer_task, task, benchmark)
              for task in tasks.transfer_tasks(benchmark)}  # fmt: skip
    columns = (f[c] for f in frames.values() if f is not None for c in texts(f))
    encode = remembering(encode)
    encode([s for column in columns for s in column])  # all tasks in one pass
    scores, failed = {}, {"dev": float("nan"), "test": float("nan")}
    for task, frame in frames.items():
        found = failed
        if frame is not None:
            parts = [encode(frame[c]) for c in texts(frame)]
            found = _attempt(task, score, parts, frame) or failed
        scores |= {f"{task} {what}": value for what, value in found.items()}
    averages = {AVERAGE: [f"{t} test" for t in frames], DEV_AVERAGE: [f"{t} dev" for t in frames]}
    return {k: float(np.mean([scores[n] for n in names])) for k, names in averages.items()} | scores


def _attempt(task: str, function, *arguments):
    """What `function` returns, or None, with its reason in the log, when it cannot be had."""
    try:
        return function(*arguments)
    except (StudyError, np.linalg.LinAlgError) as cause:
        log.warning("transfer task %s is left out: %s", task, cause)
        return None


def texts(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame if name.startswith("sentence")]


def score(parts: Sequence[Float[np.ndarray, "n dim"]], frame: pd.DataFrame) -> dict[str, float]:
    """dev, test (and, for pairs, test F1) x 100 from the embeddings of each text column.

    F1 is of the label that sorts last ("1", "same"). Raises StudyError where the embeddings are
    not finite or all equal, or a class has too few rows for the folds.
    """
    if not all(np.isfinite(part).all() for part in parts):
        raise StudyError("an embedding holds NaN or infinity.")
    if all(np.ptp(part, axis=0).max() <= 1e-6 * abs(part).max() for part in parts):
        raise StudyError("all embeddings are equal, so that nothing can be learnt from them.")
    x = parts[0]
    if len(parts) == 2:  # SentEval's features of a pair
        x = np.concatenate([abs(parts[0] - parts[1]), parts[0] * parts[1]], axis=1)
    y = frame["label"].factorize(sort=True)[0]
    split = frame["split"].to_numpy(str)
    if set(split) == {"all"}:
        return _cross_validated(x, y)
    dev, guess = _given_test(x, y, split)
    test = split == "test"
    found = {"dev": dev, "test": 100 * float((guess == y)[test].mean())}
    return found | ({"test F1": 100 * f1(guess[test], y[test])} if len(parts) == 2 else {})


def f1(guess: Int[np.ndarray, " n"], y: Int[np.ndarray, " n"]) -> float:
    """Harmonic mean of precision and recall of class 1; 0 where it is never guessed rightly."""
    return 2 * float((guess & y).sum()) / max(1, int(guess.sum() + y.sum()))


def folds(y: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Number of the fold that holds each row out: SentEval's own stratified folds."""
    if (smallest := np.bincount(y).min()) < FOLDS:
        raise StudyError(f"a class has {smallest} rows; {FOLDS} folds need as many at least.")
    fold = np.empty(len(y), int)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for i, (_, held) in enumerate(splitter.split(y, y)):
        fold[held] = i
    return fold


def _cross_validated(x, y) -> dict[str, float]:
    """Nested cross-validation without a given split.

    The strength for outer fold i is chosen on the other folds j by models that saw neither. Such
    a model serves (i, j) and (j, i), which halves SentEval's 10 x 10 inner fits; it is trained on
    80 % of the rows instead of 81 %.
    """
    fold = folds(y)
    pairs = list(combinations(range(FOLDS), 2))
    held = pairs + [(i,) for i in range(FOLDS)]
    right = fit_predict(x, y, np.array([~np.isin(fold, h) for h in held]), STRENGTHS) == y
    inner = np.full((FOLDS, FOLDS, len(STRENGTHS)), np.nan)
    for k, (i, j) in enumerate(pairs):
        inner[i, j] = right[k][:, fold == j].mean(1)
        inner[j, i] = right[k][:, fold == i].mean(1)
    inner = np.nanmean(inner, axis=1)  # (outer fold, strength)
    best = inner.argmax(1)
    outer = [right[len(pairs) + i, best[i], fold == i].mean() for i in range(FOLDS)]
    return {"dev": 100 * float(inner.max(1).mean()), "test": 100 * float(np.mean(outer))}


def _given_test(x, y, split) -> tuple[float, np.ndarray]:
    """Dev accuracy x 100 and the guessed class of every row, trained on the "train" rows.

    The strength is chosen on the "dev" rows, or by cross-validation inside "train".
    """
    train, dev = split == "train", split == "dev"
    if dev.any():
        guess = fit_predict(x, y, train[None], STRENGTHS)
        chosen = (guess[0] == y)[:, dev].mean(1)
    else:
        fold = np.full(len(y), -1)
        fold[train] = folds(y[train])
        masks = np.array([train & (fold != i) for i in range(FOLDS)] + [train])
        guess = fit_predict(x, y, masks, STRENGTHS)
        chosen = np.mean([(guess[i] == y)[:, fold == i].mean(1) for i in range(FOLDS)], axis=0)
    return 100 * float(chosen.max()), guess[-1, chosen.argmax()]
