"""Contrastive tension (Carlsson et al. 2021, section 3): two encoders agree on one sentence only.

Two encoders, alike at the start, read a sentence and (K others, and itself); the dot product is
the logit of "it is the same sentence". As in sentence-transformers the second is measured.
Deviations: AdamW and the study's schedule instead of RMSProp in steps; the negatives of a sentence
are others of its batch, all different. The paper's pooling is "mean".
"""

import copy

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from mocose_study.config import Config
from mocose_study.data.corpora import column
from mocose_lib.encoder import Encoder
from mocose_study.systems.base import Fitted, System, load_encoder, train_system, training_ids


def tension(
    first: Float[Tensor, "n width"], second: Float[Tensor, "n width"], same: Float[Tensor, " n"]
) -> Float[Tensor, ""]:
    """Sum over pairs of -log sigmoid(f.s) where `same` is 1, -log(1 - sigmoid(f.s)) where 0."""
    with torch.autocast(first.device.type, enabled=False):
        logits = (first.float() * second.float()).sum(1)
        return F.binary_cross_entropy_with_logits(logits, same, reduction="sum")


class ContrastiveTension(System):
    def __init__(self, encoder: Encoder, config: Config):
        super().__init__()
        self.encoder, self.other = encoder, copy.deepcopy(encoder)
        self.group = config.ct_negatives + 1

    def loss(self, sentences: list[list[int]]) -> Float[Tensor, ""]:
        """Each group's first sentence with all of the group, itself included."""
        ids, mask = self.encoder.pad(sentences)
        anchors = slice(None, None, self.group)
        first = self.other(self.other.words(ids[anchors]), mask[anchors])
        second = self.encoder(self.encoder.words(ids), mask)  # (batch, width)
        same = torch.zeros(len(ids), device=ids.device)
        same[anchors] = 1
        return tension(first.repeat_interleave(self.group, 0), second, same)


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    torch.manual_seed(config.seed)
    encoder = load_encoder(config, device)
    ids = training_ids(config, encoder)
    system = ContrastiveTension(encoder, config)

    def loss(rows, generator):
        return system.loss(ids[rows]["input_ids"])

    progress = train_system(config, system, loss, column(ids, "length"), checkpoint, bar)
    return Fitted(system.encode, progress)
