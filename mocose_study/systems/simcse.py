"""Unsupervised SimCSE (Gao et al. 2021, eq. 4): a sentence twice through dropout, the batch's other
sentences as negatives; with the ablations of the paper's sections 3 and 6 and appendix E.

Deviations: crop and word deletion act on word pieces; the masked-language-model head starts afresh;
of two encoders the first is measured. Dropout rates are `Config.dropout`.
"""

import copy

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mocose_study.config import Config
from mocose_study.data.corpora import column
from mocose_lib.encoder import Encoder, make_identity
from mocose_lib.loss import info_nce
from mocose_study.rewriting.text_augment import views
from mocose_study.rewriting.tokens import shortened
from mocose_study.systems.base import (
    Fitted,
    System,
    documents,
    load_encoder,
    train_system,
    training_ids,
)
from mocose_study.systems.masked_words import MaskedWords


class Tower(nn.Module):
    """An encoder with SimCSE's MLP behind it (one layer and tanh; "never": none)."""

    def __init__(self, encoder: Encoder, config: Config):
        super().__init__()
        self.encoder = encoder
        self.mlp = nn.Sequential()
        if config.mlp != "never":
            self.mlp.extend([nn.Linear(encoder.width, encoder.width), nn.Tanh()])
            if config.head_init == "identity":
                make_identity(self.mlp[0])

    def forward(self, ids: list[list[int]]) -> Float[Tensor, "batch width"]:
        ids, mask = self.encoder.pad(ids)
        return self.mlp(self.encoder(self.encoder.words(ids), mask))


class SimCSE(System):
    def __init__(self, encoder: Encoder, config: Config):
        super().__init__()
        self.config = config
        self.first = Tower(encoder, config)
        self.second = copy.deepcopy(self.first) if config.two_encoders else None
        self.masked_words = MaskedWords(encoder) if config.mlm_weight else None
        self.to(encoder.device)

    @property
    def encoder(self) -> Encoder:
        return self.first.encoder

    def views(self, first: list, second: list, generator) -> tuple[Tensor, Tensor]:
        """Query and key (batch, width) of every pair of token lists."""
        first, second = shortened(first, second, self.config, generator)
        # inside, the random state is put back: the second pass draws the first one's masks again
        with torch.random.fork_rng(enabled=self.config.same_mask):
            query = self.first(first)
        return query, (self.second or self.first)(second)

    def loss(self, first: list, second: list, generator: torch.Generator) -> Float[Tensor, ""]:
        c = self.config
        query, keys = self.views(first, second, generator)
        loss = info_nce(query, keys, keys[:0], c.temperature, c.similarity, batch_negatives=True)
        return loss + self.auxiliary(first, generator)

    def auxiliary(self, sentences: list, generator: torch.Generator) -> Tensor | float:
        """The weighted masked-language-model term (appendix), 0 where it is not asked for."""
        if self.masked_words is None:
            return 0.0
        ids, mask = self.encoder.pad(sentences)
        return self.config.mlm_weight * self.masked_words(self.encoder, ids, mask, generator)

    def head(self, vectors: Tensor) -> Tensor:
        return self.first.mlp(vectors) if self.config.mlp == "always" else vectors


def pairs(config: Config, ids) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of all sentences and of their positives: themselves, or the next of the text."""
    rows = np.arange(len(ids))
    if config.positives == "same":
        return rows, rows
    document = documents(config, ids)
    rows = np.flatnonzero(document[:-1] == document[1:])
    return rows, rows + 1


def inputs(config: Config, encoder: Encoder, bar: bool = False) -> tuple:
    """Token ids of the sentences, and row numbers of all pairs. Raises InputError as `pairs`."""
    ids = training_ids(config, encoder, bar)
    return ids, *pairs(config, ids)


def fit(config: Config, checkpoint=None, device="cpu", bar=True, change=None) -> Fitted:
    """`change(encoder)`, where given, alters the loaded encoder before training (S-SimCSE)."""
    torch.manual_seed(config.seed)
    encoder = load_encoder(config, device)
    if change:
        change(encoder)
    ids, first, second = inputs(config, encoder, bar)
    system = SimCSE(encoder, config)

    def loss(rows, generator):
        query, _ = views(ids[first[rows]])
        _, key = views(ids[second[rows]])
        return system.loss(query, key, generator)

    lengths = column(ids, "length")[first]
    progress = train_system(config, system, loss, lengths, checkpoint, bar)
    plain = encoder if config.mlp != "always" else None
    return Fitted(system.encode, progress, plain)
