"""A model of English misspellings: sound-alikes, lost, doubled, swapped and slipped letters.

A word gets one error, as 90-95 % of misspelt words have (Pollock and Zamora 1983). The first letter
stays, where few errors are (Yannakoudakis and Fawthrop 1983). Deviation: the authors' nlpaug has a
list of misspelt words; here the patterns of `typos.toml` give every word some errors.
"""

import re

import numpy as np

from mocose_study.config import read_toml

from .word_edits import drawn_words, replaced

TABLES = read_toml(__package__, "typos")
SHARES, NEIGHBOURS = TABLES["shares"], TABLES["neighbours"]
ALIKE, UNHEARD = (
    [tuple(pair.split("/")) for pair in TABLES["sounds"][name].split()]
    for name in ("alike", "unheard")
)
PAIRS = ALIKE + [(b, a) for a, b in ALIKE] + UNHEARD
SPELLINGS = tuple((re.compile(right), wrong) for right, wrong in PAIRS)


def errors(word: str) -> dict[str, list[str]]:
    """All misspellings of a word, by kind; a slip has a neighbouring key in place of the right."""
    cuts = [(word[:i], word[i], word[i + 1 :]) for i in range(1, len(word))]
    sounds = [(m, wrong) for right, wrong in SPELLINGS for m in right.finditer(word, 1)]
    return {
        "sounds": [word[: m.start()] + wrong + word[m.end() :] for m, wrong in sounds],
        "omission": [before + after for before, _, after in cuts],
        "doubling": [before + 2 * letter + after for before, letter, after in cuts],
        "transposition": [a + after[0] + b + after[1:] for a, b, after in cuts if after],
        "slip": [a + key + after for a, b, after in cuts for key in NEIGHBOURS.get(b, "")],
    }


def misspelt(word: str, rng: np.random.Generator) -> str:
    """`word` (two letters or more) with one error."""
    possible = {kind: [w for w in found if w != word] for kind, found in errors(word).items()}
    kinds = [kind for kind, found in possible.items() if found]
    shares = np.array([SHARES[kind] for kind in kinds])
    wrong = possible[kinds[rng.choice(len(kinds), p=shares / shares.sum())]]
    return wrong[rng.integers(len(wrong))]


def with_typos(texts: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Each text with a share `rate` of its words misspelt, at least one where it has any."""
    drawn = [drawn_words(text, rate, rng) for text in texts]
    return [
        replaced(text, words, [misspelt(word[0], rng) for word in words])
        for text, words in zip(texts, drawn, strict=True)
    ]
