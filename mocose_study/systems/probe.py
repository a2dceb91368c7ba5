"""The geometry of a system's embeddings of STS-B: of all of them, or of a sample while it trains.

The papers say "STS-B" only. The dev split is the default: it chooses checkpoints already, so that
what is watched while training gives nothing of the test set away.
"""

from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from mocose_study.data import benchmarks
from mocose_lib.evaluation.geometry import (
    alignment,
    describe,
    effective_rank,
    mean_cosine,
    singular_values,
    uniformity,
)
from mocose_lib.evaluation.sts import Encode

CLOSE = 4.0  # pairs scored above count as positive (Wang & Isola's x, x+ in the papers)
PROBE_PAIRS = 48  # with the sentences: 6 to 7 % of training time at every 10th step of `tiny`
PROBE_SENTENCES = 96
PROBE_BATCH = 32  # sentences of like length padded together


@cache
def sentences(benchmark: str, split: str = "dev") -> tuple[list[str], list[str], list[str]]:
    """First and second sentences of the pairs scored above 4, and all distinct sentences."""
    frame = benchmarks.sts_pairs(benchmarks.dev_task(benchmark), split, benchmark)
    close = frame[frame["score"].astype(float) > CLOSE]
    every = dict.fromkeys([*frame["sentence1"], *frame["sentence2"]])
    return list(close["sentence1"]), list(close["sentence2"]), list(every)


def measure(encode: Encode, benchmark: str, split: str = "dev") -> dict[str, float]:
    """Alignment, uniformity and the rest on STS-B; names end in the split."""
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
    def __call__(self, step: int = 0) -> dict[str, float]:
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
