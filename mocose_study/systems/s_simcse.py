"""S-SimCSE (Zhang and Lan 2021, eq. 4): SimCSE with dropout rates drawn from U(a, b).

Every dropout of the encoder draws a rate of its own in every forward pass. With
sentence-wise masks each sentence of the batch draws one. The paper does not state a and
b; ours are `dropout_low` and `dropout_high`. Deviation: transformers computes dropout
inside its attention function. There the rate is drawn anew per layer and pass, and it
is one for all sentences; their masks still differ.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mocose_lib import Encoder
from mocose_study.config import Config
from mocose_study.fast.dropout import replace_dropout

from .simcse import SimCSE


class SampledDropout(nn.Module):
    """Dropout at a rate drawn from U(low, high) in every pass, or for every sentence.

    Kept values are divided by 1 - rate, so that the expectation is that of the input.
    """

    def __init__(self, low: float, high: float, sentence_wise: bool):
        super().__init__()
        self.low, self.high, self.sentence_wise = low, high, sentence_wise

    @property
    def p(self) -> float:
        """A newly drawn rate: what transformers reads for dropout inside attention."""
        return self.low + (self.high - self.low) * torch.rand(()).item()

    def rates(self, x: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        """Drawn rates that broadcast over `x`, whose first dimension is sentences."""
        shape = (len(x) if self.sentence_wise else 1, *[1] * (x.ndim - 1))
        drawn = torch.rand(shape, device=x.device)
        return (self.low + (self.high - self.low) * drawn).expand(len(x), *shape[1:])

    def forward(self, x: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        if not self.training:
            return x
        rate = self.rates(x)
        kept = torch.rand(x.shape, device=x.device) >= rate
        return x * (kept / (1 - rate)).to(x.dtype)


class SSimCSE(SimCSE):
    name, label, colour = "s_simcse", "S-SimCSE", "#F0C75E"
    own = (*SimCSE.own, "dropout_low", "dropout_high", "sentence_dropout")

    def __init__(self, config: Config, encoder: Encoder, inputs):
        rates = (config.dropout_low, config.dropout_high, config.sentence_dropout)
        replace_dropout(encoder, lambda _: SampledDropout(*rates))
        encoder.dropout = config.dropout_high
        super().__init__(config, encoder, inputs)

    @staticmethod
    def contradictions(config: Config):
        yield from SimCSE.contradictions(config)
        low, high = config.dropout_low, config.dropout_high
        if low > high:
            yield f"dropout_low = {low} is larger than dropout_high = {high}."
