"""A model of this study as MTEB sees one: `mteb.evaluate(MTEBModel(encode), tasks)`.

MTEB (Muennighoff et al. 2023) is an extra: `pip install mteb`.
"""

import numpy as np
from jaxtyping import Float
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction

from mocose_lib.evaluation.sts import Encode


class MTEBModel(AbsEncoder):
    """`encode`, any function from n sentences to (n, dim) vectors, under a name for MTEB's files.

    >>> mteb.evaluate(MTEBModel(Encoder.load("my-model").encode), mteb.get_tasks(["STS12"]))
    """

    def __init__(self, encode: Encode, name: str = "mocose/model"):
        self.sentences_to_vectors = encode
        about = {"name": name, "similarity_fn_name": ScoringFunction.COSINE}
        self.mteb_model_meta = ModelMeta.create_empty(overwrites=about)

    def encode(self, inputs, **_) -> Float[np.ndarray, "n dim"]:
        """Vectors of the texts in MTEB's batches."""
        return self.sentences_to_vectors([text for batch in inputs for text in batch["text"]])
