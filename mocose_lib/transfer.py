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
import torch
from jaxtyping import Bool, Float, Int
from sklearn.model_selection import StratifiedKFold
from torch import Tensor
from torch.nn import functional as F

from . import data
from .config import StudyError
from .sts import Encode

log = logging.getLogger(__name__)
AVERAGE = "transfer_avg"  # mean test accuracy of the tasks
DEV_AVERAGE = "transfer_dev_avg"  # mean dev accuracy: the column the published code reports
FOLDS = 10
SEED = 1111  # SentEval's, of its folds
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2)  # SentEval's, of the L2 penalty on a mean loss
TOLERANCE = 1e-7  # of the squared gradient in the preconditioner's metric
STEPS = 500


def evaluate(encode: Encode, benchmark: str) -> dict[str, float]:
    """Dev and test accuracy x 100 of every task (and F1 of paraphrase), with their averages.

    A task that cannot be measured (no file, NaN or all-equal embeddings) gives NaN, so do then
    the averages, and the log says why; the other tasks keep their numbers.
    """
    frames = {task: _attempt(task, data.transfer_task, task, benchmark)
              for task in data.transfer_tasks(benchmark)}  # fmt: skip
    columns = (f[c] for f in frames.values() if f is not None for c in texts(f))
    sentences = list(dict.fromkeys(s for column in columns for s in column))
    vectors = encode(sentences) if sentences else np.zeros((0, 1), np.float32)
    place = {sentence: i for i, sentence in enumerate(sentences)}
    scores, failed = {}, {"dev": float("nan"), "test": float("nan")}
    for task, frame in frames.items():
        found = failed
        if frame is not None:
            parts = [vectors[[place[s] for s in frame[c]]] for c in texts(frame)]
            found = _attempt(task, score, parts, frame) or failed
        scores |= {f"{task} {what}": value for what, value in found.items()}
    averages = {AVERAGE: [f"{t} test" for t in frames], DEV_AVERAGE: [f"{t} dev" for t in frames]}
    return {k: float(np.mean([scores[n] for n in names])) for k, names in averages.items()} | scores


def _attempt(task: str, function, *arguments):
    """What `function` returns, or None, with its reason in the log, when it cannot be had."""
    try:
        return function(*arguments)
    except (StudyError, torch.linalg.LinAlgError) as cause:
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


def fit_predict(
    x: Float[np.ndarray, "n dim"],
    y: Int[np.ndarray, " n"],
    masks: Bool[np.ndarray, "masks n"],
    strengths: Sequence[float],
) -> Int[np.ndarray, "masks strengths n"]:
    """Classes that logistic regressions guess for all rows, each trained on the rows of a mask.

    Every model minimises its mean cross-entropy + strength / 2 * |weights|^2 with one weight
    vector per class (as SentEval's network has also for two classes) and a free intercept. They
    are solved at once, so that a step is two matrix products whatever their number: MEASURED.
    """
    features, curvature = _principal(torch.tensor(x, dtype=torch.float32))
    y, binary = torch.as_tensor(y), y.max() == 1
    target = y[:, None].float() if binary else F.one_hot(y).float()  # (n, classes)
    mask = torch.tensor(masks.T, dtype=torch.float32).repeat_interleave(len(strengths), 1)
    # Two weight vectors of opposite sign share what a single one, their difference, pays.
    penalty = torch.tensor(strengths).repeat(len(masks)) / (2 if binary else 1)
    logits = _solve(features, target, mask / mask.sum(0), penalty, curvature)
    guess = (logits[..., 0] > 0).long() if binary else logits.argmax(-1)  # (n, models)
    return guess.T.view(len(masks), len(strengths), -1).numpy()


def _principal(x: Float[Tensor, "n dim"]) -> tuple[Float[Tensor, "n dim1"], Float[Tensor, " dim1"]]:
    """Centred rows in their principal axes, with a column of ones, and the axes' variances.

    A rotation leaves the penalty as it is, and makes a diagonal preconditioner a good one.
    """
    x = x - x.mean(0)
    variance, axes = torch.linalg.eigh((x.T @ x / len(x)).double())
    ones = torch.ones(len(x), 1)
    return torch.cat([x @ axes.float(), ones], 1), torch.cat([variance.float().clamp(min=0), ones[0]])


def _solve(
    x: Float[Tensor, "n dim"],
    target: Float[Tensor, "n classes"],
    share: Float[Tensor, "n models"],
    penalty: Float[Tensor, " models"],
    curvature: Float[Tensor, " dim"],
) -> Float[Tensor, "n models classes"]:
    """Logits after preconditioned conjugate gradients (Polak-Ribiere) with Newton step lengths.

    `share` is the weight of every row in every model's loss. The preconditioner is Boehning's
    bound of the Hessian, the same for all masks but for the penalty.
    """
    binary = target.shape[1] == 1
    ridge = penalty.expand(len(curvature), -1).clone()
    ridge[-1] = 0  # the intercept is free
    bound = (0.25 if binary else 0.5) * curvature[:, None] + ridge
    ridge, bound = ridge[..., None], bound.clamp(min=1e-12)[..., None]  # (dim, models, 1)
    weights = torch.zeros(len(curvature), len(penalty), target.shape[1])
    logits = torch.zeros(len(x), *weights.shape[1:])
    direction, gradient, size = weights, weights, torch.ones(len(penalty))
    for _ in range(STEPS):
        guess = logits.sigmoid() if binary else logits.softmax(-1)
        residual = (guess - target[:, None]) * share[..., None]
        last, gradient = gradient, (x.T @ residual.flatten(1)).view_as(weights) + ridge * weights
        scaled = gradient / bound
        turn = (((gradient - last) * scaled).sum((0, 2)) / size).clamp(min=0)
        size = (gradient * scaled).sum((0, 2))
        if size.max() < TOLERANCE:
            break
        direction = turn[:, None] * direction - scaled
        change = (x @ direction.flatten(1)).view_as(logits)
        slope = guess * change
        bend = (slope * change).sum(-1) - slope.sum(-1) ** 2  # second derivative along the line
        bend = (bend * share).sum(0) + (ridge * direction**2).sum((0, 2))
        length = -(gradient * direction).sum((0, 2)) / bend.clamp(min=1e-30)
        weights = weights + length[:, None] * direction
        logits = logits + length[:, None] * change
    return logits
