"""Sentences that a language model writes anew: paraphrases, and translations there and back.

A causal model paraphrases as in nlpaug's ContextualWordEmbsForSentenceAug: it continues, and its
sentence is put behind the given one. Deviation: no padding text stands in front of the sentence.
A sequence-to-sequence model gets the sentence and answers by its own generation settings.
"""

import re

import numpy as np
import torch

from .language_models import LanguageModel, by_length

BATCH = 32
CONTINUATION = 30  # tokens, at most, and one sentence; both nlpaug's
TOP_K = 100  # nlpaug's


def _generate(lm: LanguageModel, inputs: dict, rng: np.random.Generator, **options):
    """Token ids (rows, length); random draws, where the model makes any, come from `rng`."""
    pad = lm.tokenizer.pad_token_id
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**62)))
        return lm.model.generate(
            **inputs, pad_token_id=lm.tokenizer.eos_token_id if pad is None else pad, **options
        )


def transduced(lm: LanguageModel, texts: list[str], rng: np.random.Generator) -> list[str]:
    """The answer of a sequence-to-sequence model to each text; the text where that is empty."""
    ids = lm.tokenizer(texts, truncation=True, max_length=lm.positions)["input_ids"]
    result = list(texts)
    for rows in by_length(ids, BATCH):
        batch = lm.tokenizer.pad({"input_ids": [ids[i] for i in rows]}, return_tensors="pt")
        most = min(2 * batch["input_ids"].shape[1] + 10, lm.positions - 1)
        found = _generate(lm, batch.to(lm.device), rng, max_new_tokens=most)
        for i, tokens in zip(rows, found, strict=True):
            text = lm.tokenizer.decode(tokens, skip_special_tokens=True)
            result[i] = " ".join(text.split()) or texts[i]
    return result


def continued(lm: LanguageModel, texts: list[str], rng: np.random.Generator) -> list[str]:
    """Each text with one sentence of a causal model behind it; too long texts stay as they are."""
    ids = lm.tokenizer(texts, add_special_tokens=False)["input_ids"]
    result = list(texts)
    # sentences of one length need no padding, for which XLNet's generation has no mask
    for rows in by_length(ids, BATCH, equal=True):
        length = len(ids[rows[0]])
        if not 0 < length <= lm.positions - CONTINUATION:
            continue
        batch = torch.tensor([ids[i] for i in rows], device=lm.device)
        inputs = {"input_ids": batch, "attention_mask": torch.ones_like(batch)}
        drawn = dict(max_new_tokens=CONTINUATION, do_sample=True, top_k=TOP_K)
        found = _generate(lm, inputs, rng, **drawn)
        for i, tokens in zip(rows, found[:, length:], strict=True):
            more = first_sentence(lm.tokenizer.decode(tokens, skip_special_tokens=True))
            result[i] = f"{texts[i]} {more}".rstrip()
    return result


def first_sentence(text: str) -> str:
    """Up to the first full stop, question or exclamation mark, with single spaces."""
    return " ".join(re.match(r"[^.!?]*[.!?]?", text)[0].split())


def paraphrased(lm: LanguageModel, texts: list[str], rng: np.random.Generator) -> list[str]:
    return (transduced if lm.seq2seq else continued)(lm, texts, rng)


def translated_back(
    there: LanguageModel, back: LanguageModel, texts: list[str], rng: np.random.Generator
) -> list[str]:
    """Through another language."""
    return transduced(back, transduced(there, texts, rng), rng)
