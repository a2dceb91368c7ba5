"""Contrastive tension (Carlsson et al. 2021, section 3): two encoders, one sentence.

The two start alike. One reads a sentence, the other reads it and K others. The dot
product is the logit of "it is the same sentence". The second encoder is measured, as in
sentence-transformers. The paper's pooling is "mean". Deviations: AdamW with the study's
schedule replaces RMSProp with steps. The negatives of a sentence are others of its
batch, all different.
"""

import copy

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from mocose_lib import Encoder
from mocose_lib.shapes import Scalar, Vectors
from mocose_study.config import Config

from .base import Model

GROUP = 8  # a sentence and its negatives


def tension(first: Vectors, second: Vectors, same: Float[Tensor, " batch"]) -> Scalar:
    """Sum over pairs of -log sigmoid(f.s) where `same`, else of -log sigmoid(-f.s)."""
    with torch.autocast(first.device.type, enabled=False):
        logits = (first.float() * second.float()).sum(1)
        return F.binary_cross_entropy_with_logits(logits, same, reduction="sum")


class ContrastiveTension(Model):
    name, label, colour = "ct", "CT", "#009E73"
    reads, own = ("encoder", "corpus"), ()
    saved_whole = staticmethod(lambda config: True)

    def __init__(self, config: Config, encoder: Encoder, inputs):
        super().__init__(config, encoder, inputs)
        self.other = copy.deepcopy(encoder)

    def loss(self, sentences: list[list[int]]) -> Scalar:
        """Each group's first sentence with all of the group, itself included."""
        ids, mask = self.encoder.pad(sentences)
        anchors = slice(None, None, GROUP)
        first = self.other(self.other.words(ids[anchors]), mask[anchors])
        second = self.encoder(self.encoder.words(ids), mask)  # (batch, width)
        same = torch.zeros(len(ids), device=ids.device)
        same[anchors] = 1
        return tension(first.repeat_interleave(GROUP, 0), second, same)

    @staticmethod
    def contradictions(config: Config):
        if config.batch_size % GROUP:
            what = f"batch_size = {config.batch_size} is no multiple of {GROUP}"
            yield f"{what}: each sentence of ct stands beside {GROUP - 1} others."
