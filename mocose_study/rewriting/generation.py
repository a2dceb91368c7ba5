"""Sentences that a language model writes anew: paraphrases, and translations there and back.

As nlpaug's ContextualWordEmbsForSentenceAug a causal model paraphrases by going on: its sentence
is put behind the given one. Deviation: the model gets no padding text in front of it. A
sequence-to-sequence model gets the sentence as it is and answers by its own generation settings.
"""

import numpy as np
import torch

from mocose_study.rewriting.language_models import LanguageModel, by_length

BATCH = 32
CONTINUATION = 30  # tokens, at most, and one sentence; both nlpaug's
TOP_K = 100  # nlpaug's
SENTENCE_ENDS = ".!?"


def _generate(lm: LanguageModel, inputs: dict, rng: np.random.Generator, **options):
    """Token ids (rows, length); random draws, where the model makes any, come from `rng`."""
    pad = lm.tokenizer.pad_token_id
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**62)))
        return lm.model.generate(
            **inputs, pad_token_id=lm.tokenizer.eos_token_id if pad is None else pad, **options
        )


def transduced(lm: LanguageModel, texts: list[str], rng: np.random.Generator) -> list[str]:
    """What a sequence-to-sequence model makes of each text; the text where that is nothing."""
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
    """Each text and behind it one sentence of a causal model; too long ones stay as they are."""
    ids = lm.tokenizer(texts, add_special_tokens=False)["input_ids"]
    result = list(texts)
    for rows in of_one_length(ids, BATCH):
        length = len(ids[rows[0]])
        if not 0 < length <= lm.positions - CONTINUATION:
            continue
        batch = torch.tensor([ids[i] for i in rows], device=lm.device)
        found = _generate(
            lm, {"input_ids": batch, "attention_mask": torch.ones_like(batch)}, rng,
            max_new_tokens=CONTINUATION, do_sample=True, top_k=TOP_K,
        )  # fmt: skip
        for i, tokens in zip(rows, found[:, length:], strict=True):
            more = first_sentence(lm.tokenizer.decode(tokens, skip_special_tokens=True))
            result[i] = f"{texts[i]} {more}".rstrip()
    return result


def of_one_length(ids: list[list[int]], size: int) -> list[list[int]]:
    """As `by_length`, but without padding, for which XLNet's generation has no mask."""
    rows: dict[int, list[int]] = {}
    for i, tokens in enumerate(ids):
        rows.setdefault(len(tokens), []).append(i)
    groups = (same for _, same in sorted(rows.items()))
    return [same[i : i + size] for same in groups for i in range(0, len(same), size)]


def first_sentence(text: str) -> str:
    """Up to the first full stop, question or exclamation mark, with single spaces."""
    ends = [text.find(mark) for mark in SENTENCE_ENDS if mark in text]
    return " ".join(text[: min(ends) + 1 if ends else None].split())


def paraphrased(lm: LanguageModel, texts: list[str], rng: np.random.Generator) -> list[str]:
    return (transduced if lm.seq2seq else continued)(lm, texts, rng)


def translated_back(
    there: LanguageModel, back: LanguageModel, texts: list[str], rng: np.random.Generator
) -> list[str]:
    """Through another language."""
    return transduced(back, transduced(there, texts, rng), rng)
