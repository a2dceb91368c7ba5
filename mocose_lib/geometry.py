"""Where embeddings lie: alignment, uniformity, spectrum, and whether they have collapsed.

MoCoSE Figures 4, 7, 10 and SimCSE Figures 2, 3. All but the singular values and what follows
from them look at the l2-normalised embeddings, as the cosine does. A value that is undefined
(too few rows, NaN, a zero vector) is NaN. Computed in float64.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from . import tasks
from .sts import Encode

Vectors = Float[np.ndarray, "n dim"]
CLOSE = 4.0  # pairs scored above count as positive (Wang & Isola's x, x+ in the papers)
BLOCK = 1024  # rows whose distances to all others are in memory at once
PROBE_PAIRS = 48  # with the sentences: 6 to 7 % of training time at every 10th step of `tiny`
PROBE_SENTENCES = 96
PROBE_BATCH = 32  # sentences of like length padded together
OPTIMUM = (0.0, -4.0)  # the paper names none for its Figure 4: perfect alignment, best uniformity
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
    """log of the mean of exp(-t |a - b|^2) over pairs of different rows (Wang & Isola 2020).

    0 where all rows are equal, lower where they are spread; about -4 at best for t = 2.
    """
    if (n := len(x)) < 2:
        return float("nan")
    x = unit(x)
    total = sum(_kernel_sum(x, start, t) for start in range(0, n, BLOCK))
    return float(np.log(total / (n * (n - 1))))


def _kernel_sum(x: Vectors, start: int, t: float) -> float:
    """Sum of the kernel from the rows of one block to all others."""
    near = np.exp(2 * t * (x[start : start + BLOCK] @ x.T - 1))  # (block, n); |a - b|^2 = 2 - 2ab
    near[np.arange(len(near)), start + np.arange(len(near))] = 0  # no row is its own pair
    return near.sum()


def mean_cosine(x: Vectors) -> float:
    """Mean cosine over all pairs of different rows (exact: no pairs are drawn)."""
    if (n := len(x)) < 2:
        return float("nan")
    return float(((unit(x).sum(0) ** 2).sum() - n) / (n * (n - 1)))


def singular_values(x: Vectors) -> Float[np.ndarray, " k"]:
    """Singular values of the embedding matrix as it is, over the largest (MoCoSE Figure 7).

    k = min(n, dim), descending from 1. All NaN where x holds NaN or is zero.
    """
    x = np.asarray(x, np.float64)
    if not np.isfinite(x).all() or not x.any():
        return np.full(min(x.shape), np.nan)
    found = np.linalg.svd(x, compute_uv=False)
    return found / found[0]


def effective_rank(x: Vectors) -> float:
    """exp of the entropy of the singular values as shares of their sum (Roy & Vetterli 2007)."""
    values = singular_values(x)
    share = values / values.sum()
    return float(np.exp(-np.sum(share * np.log(np.where(share == 0, 1, share)))))


def isotropy(x: Vectors) -> float:
    """min Z(c) / max Z(c), Z(c) = sum over rows of exp(c a), in (0, 1]; 1 is isotropic.

    Mu & Viswanath (2018, eq. 5-6): c runs over the eigenvectors of x'x, here with either sign,
    since that of an eigenvector is arbitrary, and the rows are normalised first, so that the
    value does not depend on their lengths.
    """
    x = unit(x)
    if not len(x) or not np.isfinite(x).all():
        return float("nan")
    along = x @ np.linalg.eigh(x.T @ x)[1]
    partition = np.concatenate([np.exp(along).sum(0), np.exp(-along).sum(0)])
    return float(partition.min() / partition.max())


def distance_to_optimum(
    align: float, uniform: float, norm: Literal[1, 2], optimum: tuple[float, float] = OPTIMUM
) -> float:
    """L1 or L2 distance of (alignment, uniformity) to a fixed point (MoCoSE Figure 4)."""
    return float(np.linalg.norm([align - optimum[0], uniform - optimum[1]], norm))


def describe(x: Vectors) -> dict[str, float]:
    """What can be said of embeddings without pairs, by name."""
    return {
        "uniformity": uniformity(x), "mean_cosine": mean_cosine(x),
        "effective_rank": effective_rank(x), "isotropy": isotropy(x),
    }  # fmt: skip


@cache
def sentences(benchmark: str, split: str = "dev") -> tuple[list[str], list[str], list[str]]:
    """First and second sentences of the pairs scored above 4, and all distinct sentences."""
    frame = tasks.sts_pairs(tasks.dev_task(benchmark), split, benchmark)
    close = frame[frame["score"].astype(float) > CLOSE]
    every = dict.fromkeys([*frame["sentence1"], *frame["sentence2"]])
    return list(close["sentence1"]), list(close["sentence2"]), list(every)


def measure(encode: Encode, benchmark: str, split: str = "dev") -> dict[str, float]:
    """Alignment, uniformity and the rest on STS-B; names end in the split.

    The papers say "STS-B" only. The dev split is the default: it chooses checkpoints already, so
    that what is watched while training gives nothing of the test set away.
    """
    first, second, every = sentences(benchmark, split)
    vectors = encode([*first, *second, *every])
    found = {"alignment": alignment(*np.split(vectors[: 2 * len(first)], 2))}
    found |= describe(vectors[2 * len(first) :])
    return {f"{name} {split}": value for name, value in found.items()}


def spectrum(encode: Encode, benchmark: str, split: str = "dev") -> Float[np.ndarray, " k"]:
    """Normalised singular values of the embeddings of all STS-B sentences (Figures 7 and 10)."""
    return singular_values(encode(sentences(benchmark, split)[2]))


class Probe:
    """Alignment, uniformity, mean cosine and effective rank, cheap enough for every tenth step.

    On a sample of the dev split that is always the same (PROBE_PAIRS of the pairs scored above
    4, PROBE_SENTENCES of all sentences), tokenised once: a trajectory of it shows how a run
    moves (SimCSE Figure 2), while a single value differs from that of `measure` by the sample.
    Dropout is off while probing, and no random number of torch is drawn.
    """

    def __init__(self, scored: nn.Module, benchmark: str, seed: int = 0):
        encoder = getattr(scored, "encoder", scored)  # a system wraps one
        first, second, every = sentences(benchmark)
        rng = np.random.default_rng(seed)
        close = rng.permutation(len(first))[:PROBE_PAIRS]
        some = rng.permutation(len(every))[:PROBE_SENTENCES]
        chosen = [first[i] for i in close] + [second[i] for i in close] + [every[i] for i in some]
        self.scored, self.device, self.pairs = scored, encoder.device, len(close)
        ids = encoder.tokenize(chosen)
        order = np.argsort([len(tokens) for tokens in ids], kind="stable")
        self.place = np.argsort(order)  # where a sentence of the sample stands, sorted by length
        parts = [order[i : i + PROBE_BATCH] for i in range(0, len(order), PROBE_BATCH)]
        self.batches = [encoder.pad([ids[i] for i in part]) for part in parts]

    @torch.no_grad()
    def __call__(self) -> dict[str, float]:
        training = self.scored.training
        self.scored.eval()
        found = [self.scored(self.scored.words(ids), mask) for ids, mask in self.batches]
        if self.scored.pooling == "cls_pooler":
            found = [self.scored.pooler(part) for part in found]
        self.scored.train(training)
        vectors = torch.cat(found).float().cpu().numpy()[self.place]
        x, y, some = np.split(vectors, [self.pairs, 2 * self.pairs])
        return {
            "alignment": alignment(x, y), "uniformity": uniformity(some),
            "mean_cosine": mean_cosine(some), "effective_rank": effective_rank(some),
        }  # fmt: skip


def collapsed(measured: Mapping[str, float]) -> str | None:
    """Why embeddings are collapsed, in a sentence, or None where they are not.

    `measured` has mean_cosine and effective_rank, as `Probe` and `describe` give them.
    """
    cosine, rank = measured["mean_cosine"], measured["effective_rank"]
    if not np.isfinite([cosine, rank]).all():
        return "the embeddings hold NaN or zero vectors"
    if cosine > COLLAPSED_COSINE:
        return f"the mean cosine of different sentences is {cosine:.4f} (limit {COLLAPSED_COSINE})"
    if rank < COLLAPSED_RANK:
        return f"the effective rank of the embeddings is {rank:.2f} (limit {COLLAPSED_RANK})"
    return None
