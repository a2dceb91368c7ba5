"""Language models that rewrite text: masked, causal and sequence-to-sequence ones."""

from dataclasses import dataclass

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

from mocose_study.config import InputError
from mocose_lib.encoder import OFFSETS
from mocose_study.data.encoders import locate

LONGEST = 512  # tokens, of a model that names no limit


@dataclass(frozen=True)
class LanguageModel:
    """A model in evaluation mode with its tokenizer."""

    model: nn.Module
    tokenizer: object

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def seq2seq(self) -> bool:
        return self.model.config.is_encoder_decoder

    @property
    def positions(self) -> int:
        """How many tokens it can read; a negative number in its config says: any."""
        settings = self.model.config
        limit = getattr(settings, "max_position_embeddings", -1)
        if settings.model_type in OFFSETS:
            limit -= settings.pad_token_id + 1
        return min(limit if limit > 0 else LONGEST, LONGEST)


def load(name: str, device, masked: bool = False) -> LanguageModel:
    """A folder under data/encoders, a path or a name of the hub, in float32.

    `masked` asks for a masked language model; without, the model says whether it is
    sequence-to-sequence or causal. Raises InputError when there is no such model, when it cannot
    be read, or when its file lacks weights of the language-model head.
    """
    source = locate(name) or name
    try:
        settings = AutoConfig.from_pretrained(source)
        kind = AutoModelForSeq2SeqLM if settings.is_encoder_decoder else AutoModelForCausalLM
        model, report = (AutoModelForMaskedLM if masked else kind).from_pretrained(
            source, output_loading_info=True, dtype=torch.float32
        )
        tokenizer = AutoTokenizer.from_pretrained(source)
    except (OSError, ValueError, ImportError, SafetensorError) as cause:
        raise InputError(
            f"the augmentation model {name!r} cannot be loaded "
            f"({str(cause).strip().splitlines()[0]}); name another in augmentation_models: "
            "a folder under data/encoders, a path or a name of the hub."
        ) from cause
    if missing := sorted(report["missing_keys"]):
        raise InputError(
            f"the augmentation model {name!r} has no {'masked-' if masked else ''}language-model "
            f"head (its file lacks {missing[0]}); name one that has in augmentation_models."
        )
    return LanguageModel(model.eval().to(device), tokenizer)


def by_length(ids: list[list[int]], size: int) -> list[list[int]]:
    """Row numbers in batches of at most `size`, rows of like length together."""
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    return [order[start : start + size] for start in range(0, len(order), size)]
