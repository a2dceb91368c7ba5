"""IS-BERT (Zhang et al. 2020, section 3): a sentence's vector knows its own tokens.

Convolutions of widths 1, 3 and 5 over the encoder's last layer give each token a local
vector. Their mean is the sentence's vector, which is measured. The Jensen-Shannon
estimator raises its mutual information with the local vectors; the dot product is the
discriminator. `pooling` has no effect. Deviation: the convolutions have no ReLU. The
paper's equation has one, its authors' code has none.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mocose_lib import Encoder
from mocose_lib.shapes import Mask, Scalar, Vectors, Words

from .base import Model

WINDOWS = (1, 3, 5)


class ConvolutionalEncoder(Encoder):
    """An encoder whose sentence vector is the mean of convolutions over its tokens."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        third = self.width // len(WINDOWS)
        sizes = (self.width - 2 * third, third, third)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(self.width, size, window, padding=window // 2)
            for size, window in zip(sizes, WINDOWS, strict=True)
        )

    def local(self, words: Words, mask: Mask) -> Words:
        """A vector for every token; 0 at padding, which no convolution sees."""
        layers = self.model(inputs_embeds=words, attention_mask=mask.long())
        states = (layers.last_hidden_state * mask[..., None]).transpose(1, 2)
        local = torch.cat([conv(states) for conv in self.convolutions], dim=1)
        return local.transpose(1, 2) * mask[..., None]

    def forward(self, words: Words, mask: Mask, positions: None = None) -> Vectors:
        return mean(self.local(words, mask), mask)


def mean(local: Words, mask: Mask) -> Vectors:
    """Over the tokens of each sentence."""
    return local.sum(1) / mask.sum(1, keepdim=True)


def disagreement(
    local: Float[Tensor, "tokens dim"],
    sentences: Vectors,
    owner: Int[Tensor, " tokens"],
) -> Scalar:
    """The negative Jensen-Shannon estimate, in float32; T is the dot product.

    It is the mean of softplus(-T) over tokens with their own sentence, plus the mean of
    softplus(T) over tokens with other sentences.
    """
    with torch.autocast(local.device.type, enabled=False):
        scores = local.float() @ sentences.float().T  # (tokens, batch)
        own = owner[:, None] == torch.arange(len(sentences), device=owner.device)
        return F.softplus(-scores[own]).mean() + F.softplus(scores[~own]).mean()


class ISBert(Model):
    name, label, colour = "is_bert", "IS-BERT", "#117733"
    reads, own = ("encoder", "corpus"), ()
    saved_whole = staticmethod(lambda config: False)
    encoder_kind = ConvolutionalEncoder

    def loss(self, sentences: list[list[int]]) -> Scalar:
        ids, mask = self.encoder.pad(sentences)
        local = self.encoder.local(self.encoder.words(ids), mask)
        return disagreement(local[mask], mean(local, mask), mask.nonzero()[:, 0])
