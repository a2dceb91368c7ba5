"""BERT-whitening (Su et al. 2021, Algorithm 1): x -> (x - mean) W, of covariance 1.

The paper's vectors are first-last averages (`pooling` "first_last"). With `statistics`
"task" mean and W are computed for each STS task by itself, from its test sentences; for
other sentences, from those of all tasks together. No gold score is seen.
"""

import numpy as np
from jaxtyping import Float
from sklearn.decomposition import PCA

from mocose_lib import InputError
from mocose_lib.evaluation.sts import Encode, cached
from mocose_study.config import Config

from .base import Fitted, System, load_encoder, statistics_texts

NOISE = 1e-10  # variance, relative to the largest direction's, that is rounding alone


def whitening(vectors: Float[np.ndarray, "n width"], kept: int | None = None) -> PCA:
    """The map to the first `kept` principal directions, each of variance 1.

    Without `kept` it takes all directions in which the vectors vary. Behind a LayerNorm
    these are one less than the width. Raises InputError when `kept` is larger.
    """
    pca = PCA(whiten=True, svd_solver="full").fit(vectors.astype(np.float64))
    variance = pca.explained_variance_
    rank = int((variance > NOISE * variance[0]).sum())
    if kept is not None and kept > rank:
        what = f"the {len(vectors)} vectors vary in {rank} directions"
        raise InputError(f"kept_dimensions = {kept}, but {what}.")
    pca.components_ = pca.components_[: kept or rank]
    pca.explained_variance_ = variance[: kept or rank]
    return pca


class Whitening(System):
    name, label, colour = "whitening", "whitening", "#CC79A7"
    reads, own = ("encoder", "corpus"), ("statistics", "kept_dimensions")
    draws, pooler = False, True
    saved_whole = staticmethod(lambda config: False)
    inputs = staticmethod(statistics_texts)

    @staticmethod
    def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
        encode = cached(load_encoder(config, device).encode)  # each map asks again

        def fitted_on(texts: list[str]) -> Encode:
            pca = whitening(encode(texts), config.kept_dimensions)
            return lambda texts: pca.transform(encode(texts)).astype(np.float32)

        of_task = fitted_on if config.statistics == "task" else None
        return Fitted(fitted_on(statistics_texts(config)), of_task=of_task)
