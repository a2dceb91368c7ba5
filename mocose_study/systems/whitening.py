"""BERT-whitening (Su et al. 2021, Algorithm 1): x -> (x - mean) W, after which covariance is 1.

The paper's vectors are first-last averages (`pooling` "first_last"). Deviation: with `statistics`
"task" it computes mean and W on the texts of each STS task by itself; here they come from the test
texts of all seven tasks together (no gold score is seen), so that a sentence has one vector.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from mocose_lib.evaluation.sts import Encode
from mocose_study.config import Config, InputError
from mocose_study.systems.base import Fitted, load_encoder, statistics_texts

NOISE = 1e-10  # variance of a direction, relative to the largest, that is rounding alone


def whitening(
    vectors: Float[np.ndarray, "n width"], kept: int | None = None
) -> tuple[Float[np.ndarray, " width"], Float[np.ndarray, "width k"]]:
    """(mean, W): the first `kept` principal directions, each divided by its standard deviation.

    Without `kept` all directions in which the vectors vary. (Behind a LayerNorm that is one less
    than the width.) Raises InputError when `kept` is larger than that.
    """
    vectors = vectors.astype(np.float64)
    mean = vectors.mean(0)
    directions, variance, _ = np.linalg.svd(np.cov(vectors.T))
    rank = int((variance > NOISE * variance[0]).sum())
    if kept is not None and kept > rank:
        raise InputError(
            f"kept_dimensions = {kept}, but the {len(vectors)} vectors vary in {rank} directions."
        )
    kept = kept or rank
    return mean, directions[:, :kept] / np.sqrt(variance[:kept])


def whitened(encode: Encode, texts: Sequence[str], kept: int | None = None) -> Encode:
    """`encode`, followed by the whitening of its vectors of `texts`."""
    mean, kernel = whitening(encode(texts), kept)
    return lambda sentences: ((encode(sentences) - mean) @ kernel).astype(np.float32)


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    encoder = load_encoder(config, device)
    return Fitted(whitened(encoder.encode, statistics_texts(config), config.kept_dimensions))
