"""The masked-language-model loss as a term beside others (Devlin et al. 2019, section 3.1).

The head is the one of the checkpoint's pre-training. A checkpoint without one gets a fresh head,
and the log says so. The output layer is tied to the word embeddings, as BERT's.
"""

import logging

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM

from mocose_lib import Encoder, InputError
from mocose_study.config import Config
from mocose_study.rewriting import rewrite
from mocose_study.rewriting.tokens import mask_tokens

log = logging.getLogger(__name__)
RATE = 0.15


def numpy_generator(generator: Generator) -> np.random.Generator:
    """A generator of numpy that starts where one of torch stands."""
    return np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))


class MaskedWords(nn.Module):
    """Predicts masked tokens from the last layer's states."""

    def __init__(self, config: Config, encoder: Encoder):
        super().__init__()
        try:
            if config.encoder_init == "random":
                raise InputError("the encoder starts at random")
            model = rewrite.load(config.encoder, True, encoder.device)[0]
        except InputError as cause:
            log.warning("the head that predicts masked words starts afresh: %s", cause)
            model = AutoModelForMaskedLM.from_config(encoder.model.config).to(
                encoder.device
            )
        model.get_output_embeddings().weight = (
            encoder.model.get_input_embeddings().weight
        )
        self.head = rewrite.head_of(model)

    def forward(
        self, encoder: Encoder, sentences: list[list[int]], generator: Generator
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy, in nats, over the tokens masked in this batch; 0 without any."""
        ids, mask = encoder.pad(sentences)
        special, hidden = (
            encoder.tokenizer.all_special_ids,
            encoder.tokenizer.mask_token_id,
        )
        words, rng = (0, len(encoder.tokenizer)), numpy_generator(generator)
        shown, places = mask_tokens(
            ids.cpu().numpy(), special, RATE, hidden, words, rng
        )
        shown, places = (torch.from_numpy(x).to(ids.device) for x in (shown, places))
        states = encoder.model(
            input_ids=shown, attention_mask=mask.long()
        ).last_hidden_state
        logits = self.head(states.flatten(0, 1)[places])  # (chosen, vocabulary)
        total = F.cross_entropy(logits.float(), ids.flatten()[places], reduction="sum")
        return total / max(len(places), 1)
