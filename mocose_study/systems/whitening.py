"""BERT-whitening (Su et al. 2021, Algorithm 1): x -> (x - mean) W, after which covariance is 1.

The paper's vectors are first-last averages (`pooling` "first_last"). Deviation: the paper computes
mean and W for each STS task by itself. Here, with `statistics` "task", they come from the test
sentences of all tasks together, so that a sentence has one vector. No gold score is seen.
"""

import numpy as np
from jaxtyping import Float
from sklearn.decomposition import PCA

from mocose_lib import InputError
from mocose_study.config import Config

from .base import Fitted, load_encoder, statistics_texts

inputs = statistics_texts
NOISE = (
    1e-10  # variance of a direction, relative to the largest, that is rounding alone
)


def whitening(vectors: Float[np.ndarray, "n width"], kept: int | None = None) -> PCA:
    """The map to the first `kept` principal directions, each divided by its standard deviation.

    Without `kept` it takes all directions in which the vectors vary. Behind a LayerNorm these are
    one less than the width. Raises InputError when `kept` is larger than that.
    """
    found = PCA(whiten=True, svd_solver="full").fit(vectors.astype(np.float64))
    variance = found.explained_variance_
    rank = int((variance > NOISE * variance[0]).sum())
    if kept is not None and kept > rank:
        raise InputError(
            f"kept_dimensions = {kept}, but the {len(vectors)} vectors vary in {rank} directions."
        )
    found.components_ = found.components_[: kept or rank]
    found.explained_variance_ = variance[: kept or rank]
    return found


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    encode = load_encoder(config, device).encode
    found = whitening(encode(statistics_texts(config)), config.kept_dimensions)
    return Fitted(
        lambda sentences: found.transform(encode(sentences)).astype(np.float32)
    )
