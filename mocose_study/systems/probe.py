"""The geometry of a system's embeddings of STS-B, or of a sample while it trains.

The papers say "STS-B" only. Here it is the dev split, which chooses checkpoints
already, so that nothing is told of the test set during training.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from mocose_lib.evaluation import geometry
from mocose_lib.evaluation.sts import Encode
from mocose_study.data import benchmarks

COLLAPSED_COSINE = 0.99  # mean over pairs of different sentences
COLLAPSED_RANK = 2.0  # a single direction has effective rank 1
CLOSE = 4.0  # pairs scored above are positive (Wang & Isola's x, x+)
PROBE_PAIRS = 48  # scored above CLOSE
PROBE_SENTENCES = 96  # with the pairs: 6 to 7 % of training time at every 10th step
PROBE_BATCH = 32  # sentences of similar length, padded together


def sentences(benchmark: str) -> tuple[list[str], list[str], list[str]]:
    """Both sentences of the pairs scored above 4, and all distinct sentences."""
    (frame,) = benchmarks.dev_tables(benchmark).values()
    close = frame[frame["score"].astype(float) > CLOSE]
    texts = dict.fromkeys([*frame["sentence1"], *frame["sentence2"]])
    return list(close["sentence1"]), list(close["sentence2"]), list(texts)


def measure(encode: Encode, benchmark: str) -> dict[str, float]:
    """Alignment, uniformity and the rest on the dev split; names end in "dev"."""
    first, second, texts = sentences(benchmark)
    n, vectors = len(first), encode([*first, *second, *texts])
    values = {"alignment": geometry.alignment(*np.split(vectors[: 2 * n], 2))}
    values |= describe(vectors[2 * n :])
    return {f"{name} dev": value for name, value in values.items()}


def spectrum(encode: Encode, benchmark: str) -> Float[np.ndarray, " k"]:
    """Normalised singular values of all embeddings (Figures 7 and 10)."""
    return geometry.singular_values(encode(sentences(benchmark)[2]))


def describe(x: geometry.Vectors) -> dict[str, float]:
    """The measures that need no pairs, by name."""
    measures = (geometry.uniformity, geometry.mean_cosine, geometry.effective_rank)
    return {measure.__name__: measure(x) for measure in measures}


def is_collapsed(x: Mapping[str, float]) -> bool:
    """Whether vectors so described point one way, fill one direction, or hold NaN."""
    spread = x["mean_cosine"] <= COLLAPSED_COSINE
    return not (spread and x["effective_rank"] >= COLLAPSED_RANK)


class Probe:
    """Alignment, uniformity, mean cosine and effective rank of a fixed sample.

    It is cheap enough for each tenth step. A trajectory shows how a run moves (SimCSE
    Figure 2); a single value differs from that of `measure`. No random number is drawn.
    """

    def __init__(self, encode: Encode, benchmark: str):
        self.encode = encode
        first, second, texts = sentences(benchmark)
        rng = np.random.default_rng(0)
        close = rng.permutation(len(first))[:PROBE_PAIRS]
        some = rng.permutation(len(texts))[:PROBE_SENTENCES]
        self.pairs = len(close)
        self.sample = [part[i] for part in (first, second) for i in close]
        self.sample += [texts[i] for i in some]

    def __call__(self, step: int = 0) -> dict[str, float]:
        vectors = self.encode(self.sample, batch_size=PROBE_BATCH)
        x, y, some = np.split(vectors, [self.pairs, 2 * self.pairs])
        return {"alignment": geometry.alignment(x, y)} | describe(some)
