"""Where embeddings lie: alignment, uniformity, spectrum, and whether they have collapsed.

MoCoSE Figures 4, 7, 10 and SimCSE Figures 2, 3. All but the singular values and the rank look at
l2-normalised embeddings. Undefined values are NaN. Computed in float64.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

Vectors = Float[np.ndarray, "n dim"]
BLOCK = 1024  # rows whose distances to all others are in memory at once
COLLAPSED_COSINE = 0.99  # mean over pairs of different sentences
COLLAPSED_RANK = 2.0  # a single direction has effective rank 1


def unit(x: Vectors) -> Vectors:
    """Rows of length 1, in float64; NaN for a zero vector."""
    x = np.asarray(x, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return x / np.linalg.norm(x, axis=1, keepdims=True)


def alignment(x: Vectors, y: Vectors) -> float:
    """Mean squared distance of positive pairs, 0 (best) to 4 (Wang & Isola 2020, alpha = 2)."""
    return float(((unit(x) - unit(y)) ** 2).sum(1).mean()) if len(x) else float("nan")


def uniformity(x: Vectors, t: float = 2.0) -> float:
    """log of the mean of exp(-t |a - b|^2) over pairs of different rows (Wang & Isola 2020)."""
    if (n := len(x)) < 2:
        return float("nan")
    x, total = unit(x), 0.0
    for start in range(0, n, BLOCK):
        near = np.exp(2 * t * (x[start : start + BLOCK] @ x.T - 1))  # |a - b|^2 = 2 - 2ab
        near[np.arange(len(near)), start + np.arange(len(near))] = 0  # no row is its own pair
        total += near.sum()
    return float(np.log(total / (n * (n - 1))))


def mean_cosine(x: Vectors) -> float:
    """Mean cosine over all pairs of different rows (exact: no pairs are drawn)."""
    if (n := len(x)) < 2:
        return float("nan")
    return float(((unit(x).sum(0) ** 2).sum() - n) / (n * (n - 1)))


def singular_values(x: Vectors) -> Float[np.ndarray, " k"]:
    """Singular values of the embeddings over the largest one, descending from 1 (Figure 7)."""
    x = np.asarray(x, np.float64)
    if not np.isfinite(x).all() or not x.any():
        return np.full(min(x.shape), np.nan)
    found = np.linalg.svd(x, compute_uv=False)
    return found / found[0]


def effective_rank(x: Vectors) -> float:
    """exp of the entropy of the singular values as shares of their sum (Roy & Vetterli 2007)."""
    share = singular_values(x)
    share = share / share.sum()
    return float(np.exp(-np.sum(share * np.log(np.where(share == 0, 1, share)))))


def isotropy(x: Vectors) -> float:
    """min Z(c) / max Z(c), Z(c) = sum over rows of exp(c a), in (0, 1]; 1 is isotropic.

    Mu & Viswanath (2018, eq. 5-6), on unit rows; c is each eigenvector of x'x, with either sign.
    """
    x = unit(x)
    if not len(x) or not np.isfinite(x).all():
        return float("nan")
    along = x @ np.linalg.eigh(x.T @ x)[1]
    partition = np.concatenate([np.exp(along).sum(0), np.exp(-along).sum(0)])
    return float(partition.min() / partition.max())


def describe(x: Vectors) -> dict[str, float]:
    """What can be said of embeddings without pairs, by name."""
    measures = (uniformity, mean_cosine, effective_rank, isotropy)
    return {measure.__name__: measure(x) for measure in measures}


def collapsed(measured: Mapping[str, float]) -> str | None:
    """Why embeddings with this mean_cosine and effective_rank are collapsed; None: they are not."""
    cosine, rank = measured.get("mean_cosine", 0.0), measured.get("effective_rank", np.inf)
    if np.isnan(cosine) or np.isnan(rank):
        return "the embeddings hold NaN or zero vectors"
    if cosine > COLLAPSED_COSINE:
        return f"the mean cosine of different sentences is {cosine:.4f} (limit {COLLAPSED_COSINE})"
    if rank < COLLAPSED_RANK:
        return f"the effective rank of the embeddings is {rank:.2f} (limit {COLLAPSED_RANK})"
    return None
