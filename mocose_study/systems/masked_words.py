"""The masked-word loss as a term beside others (Devlin et al. 2019, section 3.1).

The head is the one of the checkpoint's pre-training. A checkpoint without one gets a
fresh head, and the log says so. The output layer is tied to the word embeddings.
"""

import logging

import numpy as np
import torch
from torch import Generator, nn
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM

from mocose_lib import Encoder, InputError
from mocose_lib.shapes import Scalar
from mocose_study.config import Config
from mocose_study.rewriting import rewrite
from mocose_study.rewriting.tokens import Ids, mask_tokens

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
            model = AutoModelForMaskedLM.from_config(encoder.model.config)
            model = model.to(encoder.device)
        words = encoder.model.get_input_embeddings()
        model.get_output_embeddings().weight = words.weight
        self.head = rewrite.head_of(model)

    def forward(self, encoder: Encoder, sentences: Ids, generator: Generator) -> Scalar:
        """Mean cross-entropy, in nats, over the tokens masked in this batch, or 0."""
        ids, mask = encoder.pad(sentences)
        words, rng = encoder.tokenizer, numpy_generator(generator)
        how = (words.all_special_ids, RATE, words.mask_token_id, (0, len(words)))
        masked, places = mask_tokens(ids.cpu().numpy(), *how, rng)
        masked, places = (torch.from_numpy(x).to(ids.device) for x in (masked, places))
        layers = encoder.model(input_ids=masked, attention_mask=mask.long())
        logits = self.head(layers.last_hidden_state.flatten(0, 1)[places])
        total = F.cross_entropy(logits.float(), ids.flatten()[places], reduction="sum")
        return total / max(len(places), 1)
