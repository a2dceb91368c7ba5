"""Where embeddings lie (MoCoSE Figures 4, 7, 10 and SimCSE Figures 2, 3).

All but the singular values and the rank look at embeddings of length 1. Undefined
values are NaN. Computed in float64.
"""

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import pdist
from scipy.stats import entropy

Vectors = Float[np.ndarray, "n dim"]


def unit(x: Vectors) -> Vectors:
    """Rows of length 1, in float64; NaN for a zero vector."""
    x = np.asarray(x, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return x / np.linalg.norm(x, axis=1, keepdims=True)


def alignment(x: Vectors, y: Vectors) -> float:
    """Mean squared distance of positive pairs, 0 (best) to 4 (Wang & Isola 2020)."""
    return float(((unit(x) - unit(y)) ** 2).sum(1).mean()) if len(x) else np.nan


def uniformity(x: Vectors, t: float = 2.0) -> float:
    """log of the mean of exp(-t |a - b|^2) over pairs of rows (Wang & Isola 2020).

    The distances of all pairs are in memory at once: 8 n^2 bytes.
    """
    if len(x) < 2:
        return np.nan
    return float(np.log(np.exp(-t * pdist(unit(x), "sqeuclidean")).mean()))


def mean_cosine(x: Vectors) -> float:
    """Mean cosine over all pairs of different rows (exact: no pairs are drawn)."""
    if (n := len(x)) < 2:
        return np.nan
    return float(((unit(x).sum(0) ** 2).sum() - n) / (n * (n - 1)))


def singular_values(x: Vectors) -> Float[np.ndarray, " k"]:
    """Singular values over the largest one, descending from 1 (Figure 7)."""
    x = np.asarray(x, np.float64)
    if not np.isfinite(x).all() or not x.any():
        return np.full(min(x.shape), np.nan)
    values = np.linalg.svd(x, compute_uv=False)
    return values / values[0]


def effective_rank(x: Vectors) -> float:
    """exp of the entropy of the singular values' shares (Roy & Vetterli 2007)."""
    return float(np.exp(entropy(singular_values(x))))
