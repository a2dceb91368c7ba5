"""The masked-language-model loss as a term beside others (Devlin et al. 2019, section 3.1).

Deviation: the head starts afresh (the encoder is loaded without the one of its pre-training);
its output layer is tied to the word embeddings, as BERT's.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mocose_lib.encoder import Encoder

RATE = 0.15


def corrupted(
    ids: Int[Tensor, "batch length"], tokenizer, generator: torch.Generator, rate: float = RATE
) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
    """(ids, where a token has to be predicted): of these 80 % masked, 10 % random, 10 % kept."""
    chance, kind = torch.rand((2, *ids.shape), generator=generator).to(ids.device)
    random = torch.randint(len(tokenizer), ids.shape, generator=generator).to(ids.device)
    special = torch.isin(ids, torch.tensor(tokenizer.all_special_ids, device=ids.device))
    chosen = (chance < rate) & ~special
    random = torch.where(kind < 0.9, random, ids)
    shown = torch.where(kind < 0.8, tokenizer.mask_token_id, random)
    return torch.where(chosen, shown, ids), chosen


class MaskedWords(nn.Module):
    """Predicts masked tokens from the last layer's states."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        width = encoder.width
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(encoder.model.config.vocab_size))

    def forward(
        self,
        encoder: Encoder,
        ids: Int[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"],
        generator: torch.Generator,
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy, in nats, over the tokens chosen in this batch; 0 without any."""
        shown, chosen = corrupted(ids, encoder.tokenizer, generator)
        states = encoder.model(input_ids=shown, attention_mask=mask.long()).last_hidden_state
        words = encoder.model.get_input_embeddings().weight
        logits = F.linear(self.transform(states[chosen]), words, self.bias)  # (chosen, vocabulary)
        return F.cross_entropy(logits.float(), ids[chosen], reduction="sum") / max(len(logits), 1)
