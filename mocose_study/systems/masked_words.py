"""The masked-language-model loss as a term beside others (Devlin et al. 2019, section 3.1).

The head is the one of the checkpoint's pre-training. A checkpoint without one gets a fresh head,
and the log says so. The output layer is tied to the word embeddings, as BERT's.
"""

import logging

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM

from mocose_lib import Encoder, InputError
from mocose_study.config import Config
from mocose_study.rewriting import language_models
from mocose_study.rewriting.tokens import mask_tokens

from .base import numpy_generator

log = logging.getLogger(__name__)
RATE = 0.15


def corrupted(
    ids: Int[Tensor, "batch length"], tokenizer, rng: np.random.Generator
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, " chosen"]]:
    """(ids with some tokens masked, the flat places of these tokens)."""
    shown = ids.cpu().numpy().flatten()
    ordinary = np.flatnonzero(~np.isin(shown, tokenizer.all_special_ids))
    words = (0, len(tokenizer))
    places = mask_tokens(shown, ordinary, RATE, tokenizer.mask_token_id, words, rng)
    shown, places = (torch.from_numpy(x).to(ids.device) for x in (shown, places))
    return shown.view(ids.shape), places


def load_head(config: Config, encoder: Encoder) -> nn.Module:
    """From the last layer's states to logits over the vocabulary."""
    try:
        if config.encoder_init == "random":
            raise InputError("the encoder starts at random")
        model = language_models.load(config.encoder, encoder.device, masked=True).model
    except InputError as cause:
        log.warning("the head that predicts masked words starts afresh: %s", cause)
        model = AutoModelForMaskedLM.from_config(encoder.model.config).to(encoder.device)
    model.get_output_embeddings().weight = encoder.model.get_input_embeddings().weight
    return language_models.head_of(model)


class MaskedWords(nn.Module):
    """Predicts masked tokens from the last layer's states."""

    def __init__(self, config: Config, encoder: Encoder):
        super().__init__()
        self.head = load_head(config, encoder)

    def forward(
        self,
        encoder: Encoder,
        ids: Int[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"],
        generator: torch.Generator,
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy, in nats, over the tokens masked in this batch; 0 without any."""
        shown, places = corrupted(ids, encoder.tokenizer, numpy_generator(generator))
        states = encoder.model(input_ids=shown, attention_mask=mask.long()).last_hidden_state
        logits = self.head(states.flatten(0, 1)[places])  # (chosen, vocabulary)
        total = F.cross_entropy(logits.float(), ids.flatten()[places], reduction="sum")
        return total / max(len(places), 1)
