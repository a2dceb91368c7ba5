"""Language models that rewrite text: masked, causal and sequence-to-sequence ones."""

from dataclasses import dataclass
from itertools import groupby

import torch
import transformers
from safetensors import SafetensorError
from torch import nn

from mocose_lib import InputError
from mocose_lib.encoder import OFFSETS
from mocose_study.data.encoders import PINNED, locate

LONGEST = 512  # tokens, of a model that names no limit


@dataclass(frozen=True)
class LanguageModel:
    """A model in evaluation mode with its tokenizer."""

    model: nn.Module
    tokenizer: object

    @property
    def seq2seq(self) -> bool:
        return self.model.config.is_encoder_decoder

    @property
    def positions(self) -> int:
        """How many tokens it can read; a negative number in its config stands for no limit."""
        settings = self.model.config
        limit = getattr(settings, "max_position_embeddings", -1)
        if settings.model_type in OFFSETS:
            limit -= settings.pad_token_id + 1
        return min(limit if limit > 0 else LONGEST, LONGEST)


def load(name: str, device, masked: bool = False) -> LanguageModel:
    """A folder under data/encoders, a path or a name of the hub, in float32.

    `masked` asks for a masked language model. Without it the model's config decides between
    sequence-to-sequence and causal. Raises InputError when there is no such model, when it cannot
    be read, or when its file lacks weights of the language-model head.
    """
    source = locate(name) or name
    pinned = {"revision": PINNED.get(name, "main"), "trust_remote_code": False}
    options = dict(output_loading_info=True, dtype=torch.float32, **pinned)
    try:
        both = transformers.AutoConfig.from_pretrained(source, **pinned).is_encoder_decoder
        kind = "MaskedLM" if masked else "Seq2SeqLM" if both else "CausalLM"
        loader = getattr(transformers, f"AutoModelFor{kind}")
        model, report = loader.from_pretrained(source, **options)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **pinned)
    except (OSError, ValueError, ImportError, RuntimeError, SafetensorError) as cause:
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


def head_of(model: nn.Module) -> nn.Module:
    """The part of a masked language model from states to logits: BERT's `cls`, else `lm_head`."""
    return model.cls if hasattr(model, "cls") else model.lm_head


def by_length(ids: list[list[int]], size: int, equal: bool = False) -> list[list[int]]:
    """Row numbers in batches of at most `size`, rows of similar (or equal) length together."""
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    groups = [list(g) for _, g in groupby(order, lambda i: equal and len(ids[i]))]
    return [group[i : i + size] for group in groups for i in range(0, len(group), size)]
