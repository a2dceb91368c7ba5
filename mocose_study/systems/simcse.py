"""Unsupervised SimCSE (Gao et al. 2021, eq. 4), with the ablations of sections 3 and 6.

A sentence passes twice through dropout; the batch's other sentences are the negatives.
Deviations: crop and word deletion act on word pieces. Of two encoders the first is
measured. `Config.dropout` is the rate of dropout.
"""

import copy
import math

import numpy as np
import torch
from torch import Generator, Tensor, nn

from mocose_lib import Encoder
from mocose_lib.heads import draw_layers
from mocose_lib.loss import info_nce
from mocose_lib.shapes import Scalar, Vectors
from mocose_study.config import Config
from mocose_study.rewriting.text_augment import views
from mocose_study.rewriting.tokens import shortened

from .base import Model, documents, training_ids
from .masked_words import MaskedWords

OWN = """mlp mlm_weight two_encoders same_mask positives crop word_deletion
text_augmentation augmentation_models augmentation_rate augmented_views"""


def make_mlp(config: Config, encoder: Encoder) -> nn.Sequential:
    """SimCSE's MLP behind the encoder: one layer and tanh; with `mlp` "never" none."""
    if config.mlp == "never":
        return nn.Sequential()
    mlp = nn.Sequential(nn.Linear(encoder.width, encoder.width), nn.Tanh())
    draw_layers(nn.ModuleDict({"mlp": mlp}), config.seed, encoder.initializer_range)
    return mlp


class SimCSE(Model):
    name, label, colour = "simcse", "SimCSE", "#E69F00"
    reads, own = ("encoder", "corpus", "augmentation_models"), tuple(OWN.split())
    saved_whole = staticmethod(lambda config: config.mlp != "always")

    def __init__(self, config: Config, encoder: Encoder, inputs):
        ids, self.first_rows, self.second_rows = inputs
        super().__init__(config, encoder, ids)
        self.examples = self.first_rows
        self.mlp = make_mlp(config, encoder)
        both = nn.ModuleList([encoder, self.mlp])
        self.second = copy.deepcopy(both) if config.two_encoders else None
        self.masked_words = MaskedWords(config, encoder) if config.mlm_weight else None
        self.to(encoder.device)

    @staticmethod
    def inputs(config: Config, encoder: Encoder, bar: bool = False) -> tuple:
        """Token ids of the sentences, and the rows of all pairs (`pairs`)."""
        ids = training_ids(config, encoder, bar)
        return ids, *pairs(config, ids)

    def vectors(self, sentences: list, second: bool = False) -> Vectors:
        """What encoder and MLP give for token lists; `second`: those of the key."""
        both = self.second if second and self.second else (self.encoder, self.mlp)
        (encoder, mlp), (ids, mask) = both, self.encoder.pad(sentences)
        return mlp(encoder(encoder.words(ids), mask))

    def views(
        self, first: list, second: list, generator: Generator
    ) -> tuple[Vectors, Vectors]:
        """Query and key of every pair of token lists."""
        first, second = shortened(first, second, self.config, generator)
        # fork_rng puts the random state back, so that both passes draw the same masks
        with torch.random.fork_rng(enabled=self.config.same_mask):
            query = self.vectors(first)
        return query, self.vectors(second, second=True)

    def loss(self, first: list, second: list, generator: Generator, hard=()) -> Tensor:
        """InfoNCE of the pairs, each against the batch's other keys and `hard`.

        The masked-word term of SimCSE's appendix may be added.
        """
        c, (query, keys) = self.config, self.views(first, second, generator)
        more = self.vectors(hard, second=True) if hard else keys[:0]
        own = math.log(c.hard_negative_weight) if c.hard_negative_weight else -math.inf
        loss = info_nce(query, keys, more, c.temperature, c.similarity, True, own)
        if self.masked_words is None:
            return loss
        return loss + c.mlm_weight * self.masked_words(self.encoder, first, generator)

    def batch_loss(self, rows: np.ndarray, generator: Generator) -> Scalar:
        query, _ = views(self.ids[self.first_rows[rows]])
        _, key = views(self.ids[self.second_rows[rows]])
        return self.loss(query, key, generator)

    def head(self, vectors: Vectors) -> Vectors:
        return self.mlp(vectors) if self.config.mlp == "always" else vectors

    @staticmethod
    def contradictions(config: Config):
        if config.positives == "contradiction":
            yield "positives = 'contradiction' needs method = 'simcse_supervised'."
        others = config.positives != "same" or config.text_augmentation != "none"
        if config.same_mask and (others or config.crop or config.word_deletion):
            what = "positives, crop, word_deletion and text_augmentation"
            yield f"same_mask needs two views of the same tokens; leave out {what}."


def pairs(config: Config, ids) -> tuple[np.ndarray, np.ndarray]:
    """Rows of all sentences and of their positives: themselves, or what follows them.

    With `positives` "next_three" each of the next three sentences makes a pair. Raises
    InputError where the corpus has no documents.
    """
    rows = np.arange(len(ids))
    if config.positives == "same":
        return rows, rows
    document = documents(config, ids)
    ahead = range(1, 4 if config.positives == "next_three" else 2)
    first = [np.flatnonzero(document[:-n] == document[n:]) for n in ahead]
    second = [rows + n for rows, n in zip(first, ahead, strict=True)]
    return np.concatenate(first), np.concatenate(second)
