"""The words of a text, a share of them drawn, and new ones in their place: all else stays."""

import re
from collections.abc import Sequence

import numpy as np

# two letters or more, with what follows an apostrophe; no part of a longer token such as 3rd
WORD = re.compile(r"(?<![\w'’])[^\W\d_]{2,}(?:['’][^\W\d_]+)*(?!\w)")


def drawn_words(text: str, rate: float, rng: np.random.Generator) -> list[re.Match]:
    """max(1, floor(rate n)) random ones of the n words of `text`, in their order; [] of none."""
    words = list(WORD.finditer(text))
    if not words:
        return []
    chosen = rng.permutation(len(words))[: max(1, int(rate * len(words)))]
    return [words[i] for i in sorted(chosen)]


def replaced(text: str, words: Sequence[re.Match], new: Sequence[str]) -> str:
    """`text` with new[i] in the place of words[i]; the words stand in the order of the text."""
    pieces, end = [], 0
    for word, other in zip(words, new, strict=True):
        pieces += [text[end : word.start()], other]
        end = word.end()
    return "".join([*pieces, text[end:]])
