"""From sentences to token ids: the tokenizer's own, at many times its speed where words repeat."""

import json
import os
from collections.abc import Callable, Sequence
from itertools import chain

from tokenizers import Tokenizer

WORDS_KEPT = 600_000  # whose ids are remembered; rare ones are looked up again
Ids = Callable[[Sequence[str]], list[list[int]]]


def settings_of(tokenizer) -> dict:
    """All that decides its token ids, without what its last call left over."""
    return json.loads(tokenizer.backend_tokenizer.to_str()) | {"truncation": None, "padding": None}


def token_ids(tokenizer, max_length: int | None) -> Ids:
    """The function from sentences to token ids.

    With `max_length` special tokens are added and long sentences cut; without, neither.
    """
    settings = settings_of(tokenizer)
    plain = Tokenizer.from_str(json.dumps(settings))
    if tokenizer.truncation_side == "right" and _splits_at_spaces(settings):
        return _by_words(plain, max_length)
    if max_length:
        plain.enable_truncation(max_length, direction=tokenizer.truncation_side)
    return lambda sentences: _encoded(plain, sentences, max_length is not None)


def _splits_at_spaces(settings: dict) -> bool:
    """Whether a sentence's tokens are those of its words one by one, as with BERT's tokenizer."""
    parts = [(settings[name] or {}).get("type") for name in ("normalizer", "pre_tokenizer")]
    added = settings["added_tokens"]
    across = any(" " in t["content"] or t["lstrip"] or t["rstrip"] for t in added)
    word_pieces = settings["model"]["type"] == "WordPiece"
    return word_pieces and parts == ["BertNormalizer", "BertPreTokenizer"] and not across


def _by_words(plain: Tokenizer, max_length: int | None) -> Ids:
    """Every distinct word is encoded once; sentences are put together from their words' ids."""
    before, after, room = [], [], None
    if max_length:
        word, whole = (plain.encode("a", add_special_tokens=s).ids for s in (False, True))
        start = whole.index(word[0])
        before, after = whole[:start], whole[start + len(word) :]
        room = max_length - len(before) - len(after)
    known: dict[str, list[int]] = {}

    def ids(sentences: Sequence[str]) -> list[list[int]]:
        split = [sentence.split(" ") for sentence in sentences]
        if len(known) > WORDS_KEPT:
            known.clear()
        new = list(set(chain.from_iterable(split)) - known.keys())
        known.update(zip(new, _encoded(plain, new, False), strict=True))
        found = (list(chain.from_iterable(map(known.__getitem__, words))) for words in split)
        return [before + tokens[:room] + after for tokens in found]

    return ids


def _encoded(tokenizer: Tokenizer, texts: Sequence[str], special: bool) -> list[list[int]]:
    name = "TOKENIZERS_PARALLELISM"
    before = os.environ.pop(name, None)  # it may use all cores, whatever the environment says
    try:
        found = tokenizer.encode_batch_fast(texts, add_special_tokens=special)
    finally:
        os.environ.update({name: before} if before is not None else {})
    return [encoding.ids for encoding in found]
