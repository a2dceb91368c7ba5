"""A model of this study as MTEB sees one: `mteb.evaluate(MTEBModel(encode), tasks)`.

MTEB (Muennighoff et al. 2023) is an extra: `pip install mteb`.
"""

import hashlib

import numpy as np
from jaxtyping import Float
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction

from mocose_lib.evaluation.sts import Encode

PROBES = (
    "A man plays a guitar.",
    "Café, 3 May 1998: no!",
    "the sea and the red lamp " * 200,
)


class MTEBModel(AbsEncoder):
    """`encode`, from n sentences to (n, dim) vectors, under a name for MTEB's files.

    Its revision there follows the vectors that `encode` gives now: no model gets the
    scores that MTEB's cache holds of another one, or of itself before training.

    >>> model = MTEBModel(Encoder.load("my-model").encode)
    >>> mteb.evaluate(model, mteb.get_tasks(["STS12"]))
    """

    def __init__(self, encode: Encode, name: str = "mocose/model"):
        self.sentences_to_vectors, self.name = encode, name

    @property
    def mteb_model_meta(self) -> ModelMeta:
        vectors = np.asarray(self.sentences_to_vectors(list(PROBES)), np.float32)
        revision = hashlib.sha256(vectors.tobytes()).hexdigest()[:12]
        name, cosine = f"{self.name}-{revision}", ScoringFunction.COSINE
        about = {"name": name, "revision": revision, "similarity_fn_name": cosine}
        return ModelMeta.create_empty(overwrites=about)

    def encode(self, inputs, **_) -> Float[np.ndarray, "n dim"]:
        """Vectors of the texts in MTEB's batches."""
        texts = [text for batch in inputs for text in batch["text"]]
        return self.sentences_to_vectors(texts)
