"""Unsupervised SimCSE (Gao et al. 2021, eq. 4), with the ablations of its sections 3 and 6.

A sentence passes twice through dropout; the batch's other sentences are the negatives.
Deviations: crop and word deletion act on word pieces. Of two encoders the first is measured.
`Config.dropout` is the rate of dropout.
"""

import copy

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from mocose_lib import Encoder
from mocose_lib.heads import draw_layers, make_identity
from mocose_lib.loss import info_nce
from mocose_lib.shapes import Vectors
from mocose_study.config import Config
from mocose_study.data.corpora import column
from mocose_study.rewriting.text_augment import views
from mocose_study.rewriting.tokens import shortened

from .base import System, documents, training_ids
from .masked_words import MaskedWords


def make_mlp(config: Config, encoder: Encoder) -> nn.Sequential:
    """SimCSE's MLP behind the encoder: one layer and tanh; with `mlp` "never" none."""
    if config.mlp == "never":
        return nn.Sequential()
    mlp = nn.Sequential(nn.Linear(encoder.width, encoder.width), nn.Tanh())
    draw_layers(nn.ModuleDict({"mlp": mlp}), config.seed, encoder.initializer_range)
    if config.head_init == "identity":
        make_identity(mlp)
    return mlp


class SimCSE(System):
    plain = staticmethod(lambda config: config.mlp != "always")

    def __init__(self, config: Config, encoder: Encoder, inputs):
        ids, self.first_rows, self.second_rows = inputs
        super().__init__(config, encoder, ids, column(ids, "length")[self.first_rows])
        self.mlp = make_mlp(config, encoder)
        both = nn.ModuleList([encoder, self.mlp])
        self.second = copy.deepcopy(both) if config.two_encoders else None
        self.masked_words = MaskedWords(config, encoder) if config.mlm_weight else None
        self.to(encoder.device)

    @staticmethod
    def inputs(config: Config, encoder: Encoder, bar: bool = False) -> tuple:
        """Token ids of the sentences, and the rows of all pairs. Raises InputError as `pairs`."""
        ids = training_ids(config, encoder, bar)
        return ids, *pairs(config, ids)

    def vectors(self, sentences: list, second: bool = False) -> Vectors:
        """What the encoder and the MLP give for token lists; `second`: of two encoders that one."""
        encoder, mlp = (
            self.second if second and self.second else (self.encoder, self.mlp)
        )
        ids, mask = encoder.pad(sentences)
        return mlp(encoder(encoder.words(ids), mask))

    def views(
        self, first: list, second: list, generator: Generator
    ) -> tuple[Vectors, Vectors]:
        """Query and key of every pair of token lists."""
        first, second = shortened(first, second, self.config, generator)
        # fork_rng puts the random state back, so the second pass draws the first one's masks again
        with torch.random.fork_rng(enabled=self.config.same_mask):
            query = self.vectors(first)
        return query, self.vectors(second, second=True)

    def loss(
        self, first: list, second: list, generator: Generator
    ) -> Float[Tensor, ""]:
        c = self.config
        query, keys = self.views(first, second, generator)
        loss = info_nce(
            query, keys, keys[:0], c.temperature, c.similarity, batch_negatives=True
        )
        return loss + self.auxiliary(first, generator)

    def auxiliary(self, sentences: list, generator: Generator) -> Tensor | float:
        """The weighted masked-language-model term (SimCSE's appendix), or 0 without one."""
        if self.masked_words is None:
            return 0.0
        return self.config.mlm_weight * self.masked_words(
            self.encoder, sentences, generator
        )

    def batch_loss(self, rows: np.ndarray, generator: Generator) -> Float[Tensor, ""]:
        query, _ = views(self.ids[self.first_rows[rows]])
        _, key = views(self.ids[self.second_rows[rows]])
        return self.loss(query, key, generator)

    def head(self, vectors: Vectors) -> Vectors:
        return self.mlp(vectors) if self.config.mlp == "always" else vectors


def pairs(config: Config, ids) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of all sentences and of their positives: themselves, or what follows them.

    With `positives` "next_three" each of the next three sentences makes a pair of its own.
    """
    rows = np.arange(len(ids))
    if config.positives == "same":
        return rows, rows
    document = documents(config, ids)
    ahead = range(1, 4 if config.positives == "next_three" else 2)
    first = [np.flatnonzero(document[:-n] == document[n:]) for n in ahead]
    second = [rows + n for rows, n in zip(first, ahead, strict=True)]
    return np.concatenate(first), np.concatenate(second)
