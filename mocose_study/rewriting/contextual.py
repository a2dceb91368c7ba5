"""Words that a masked language model puts in place of a sentence's own, or between them.

This is nlpaug's ContextualWordEmbsAug with the actions "substitute" and "insert". Deviations: all
masks of a sentence are filled in one pass, so that none sees the others' words. Only whole words
are put in.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mocose_lib import InputError

from .language_models import LanguageModel, by_length, head_of
from .word_edits import drawn_words, replaced

TOP = 100  # most probable words, one of which is drawn; nlpaug's default
BATCH = 128
WORD_STARTS = ("Ġ", "▁")  # of byte-level BPE, of sentencepiece


def whole_words(tokenizer) -> dict[int, str]:
    """The tokens that are whole words of two letters or more."""
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    marked = any(token.startswith(WORD_STARTS) for token in tokens)
    words = {
        i: tokenizer.convert_tokens_to_string([token]).strip()
        for i, token in enumerate(tokens)
        if (token.startswith(WORD_STARTS) if marked else not token.startswith("##"))
    }
    return {i: word for i, word in words.items() if len(word) > 1 and word.isalpha()}


class ContextualWords:
    """Replaces or inserts words that a masked language model finds probable.

    Raises InputError when the model's vocabulary has no `whole_words`.
    """

    def __init__(self, language_model: LanguageModel):
        self.model, self.tokenizer = language_model.model, language_model.tokenizer
        self.positions = language_model.positions
        self.words = whole_words(self.tokenizer)
        if len(self.words) < 2:
            name = self.model.name_or_path
            raise InputError(f"the augmentation model {name!r} has no whole words to put in.")
        self.no_words = torch.ones(self.model.config.vocab_size, dtype=torch.bool)
        self.no_words[list(self.words)] = False
        self.no_words = self.no_words.to(self.model.device)

    @torch.no_grad()
    def logits(self, ids: list[list[int]]) -> Float[Tensor, "masks vocabulary"]:
        """At the masks of all rows, row by row."""
        batch = self.tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(self.model.device)
        masks = batch["input_ids"] == self.tokenizer.mask_token_id
        return head_of(self.model)(self.model.base_model(**batch).last_hidden_state[masks])

    def fill(
        self, texts: list[str], avoid: list[list[str]], rng: np.random.Generator
    ) -> list[list[str]]:
        """A word for each mask of each text, drawn by probability; never the one to avoid there.

        Fewer words than masks come back where a text is too long for the model.
        """
        ids = self.tokenizer(texts, truncation=True, max_length=self.positions)["input_ids"]
        found: list[list[str]] = [[] for _ in texts]
        for rows in by_length(ids, BATCH):
            logits = self.logits([ids[i] for i in rows]).masked_fill(self.no_words, -torch.inf)
            values, tokens = (x.cpu().numpy() for x in logits.topk(min(TOP, len(self.words))))
            # sorting logits with Gumbel noise draws from their softmax, without replacement
            order = np.argsort(-(values + rng.gumbel(size=values.shape)), axis=1)[:, :2]
            drawn = iter(np.take_along_axis(tokens, order, axis=1))
            for row in rows:
                masks = ids[row].count(self.tokenizer.mask_token_id)
                for unwanted in avoid[row][:masks]:
                    first, second = (self.words[token] for token in next(drawn))
                    found[row].append(second if first.lower() == unwanted.lower() else first)
        return found

    def rewrite(
        self, texts: list[str], rate: float, rng: np.random.Generator, insert: bool
    ) -> list[str]:
        """A share `rate` of each text's words, at least one, is replaced, or gets one before it."""
        mask = self.tokenizer.mask_token
        drawn = {i: drawn_words(t, rate, rng) for i, t in enumerate(texts) if mask not in t}
        drawn = {i: words for i, words in drawn.items() if words}

        def edited(i: int, new: list[str]) -> str:
            words = drawn[i][: len(new)]
            if insert:
                new = [f"{other} {word[0]}" for other, word in zip(new, words, strict=True)]
            return replaced(texts[i], words, new)

        masked = [edited(i, [mask] * len(words)) for i, words in drawn.items()]
        old = [[word[0] for word in words] for words in drawn.values()]
        result = list(texts)
        for i, before, new in zip(drawn, old, self.fill(masked, old, rng), strict=True):
            if not insert:
                pairs = zip(before, new, strict=False)  # a capital letter stays one
                new = [w.capitalize() if o[0].isupper() and w.islower() else w for o, w in pairs]
            result[i] = edited(i, new)
        return result
