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


def generated(lm: LanguageModel, ids: list, rng: np.random.Generator, **options) -> list[str]:
    """What the model writes behind (or, sequence-to-sequence, about) rows of token ids.

    Random draws, where the model makes any, come from `rng`.
    """
    batch = lm.tokenizer.pad({"input_ids": ids}, padding=lm.seq2seq, return_tensors="pt")
    pad = lm.tokenizer.pad_token_id
    pad = lm.tokenizer.eos_token_id if pad is None else pad
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**62)))
        found = lm.model.generate(**batch.to(lm.model.device), pad_token_id=pad, **options)
    start = 0 if lm.seq2seq else len(ids[0])
    return lm.tokenizer.batch_decode(found[:, start:], skip_special_tokens=True)


def transduced(lm: LanguageModel, texts: list[str], rng: np.random.Generator) -> list[str]:
    """The answer of a sequence-to-sequence model to each text; the text where that is empty."""
    ids = lm.tokenizer(texts, truncation=True, max_length=lm.positions)["input_ids"]
    result = list(texts)
    for rows in by_length(ids, BATCH):
        most = min(2 * max(len(ids[i]) for i in rows) + 10, lm.positions - 1)
        answers = generated(lm, [ids[i] for i in rows], rng, max_new_tokens=most)
        for i, answer in zip(rows, answers, strict=True):
            result[i] = " ".join(answer.split()) or texts[i]
    return result


def continued(lm: LanguageModel, texts: list[str], rng: np.random.Generator) -> list[str]:
    """Each text with one sentence of a causal model behind it; too long texts stay as they are."""
    ids = lm.tokenizer(texts, add_special_tokens=False)["input_ids"]
    options = dict(max_new_tokens=CONTINUATION, do_sample=True, top_k=TOP_K)
    result = list(texts)
    # sentences of one length need no padding, for which XLNet's generation has no mask
    for rows in by_length(ids, BATCH, equal=True):
        if 0 < len(ids[rows[0]]) <= lm.positions - CONTINUATION:
            more = generated(lm, [ids[i] for i in rows], rng, **options)
            for i, text in zip(rows, more, strict=True):
                result[i] = f"{texts[i]} {first_sentence(text)}".rstrip()
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
