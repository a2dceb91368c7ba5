"""A model of English misspellings: sound-alikes, lost, doubled, swapped and slipped letters.

A word gets one error, as 90-95 % of misspelt words have (Pollock and Zamora 1983). The first letter
stays, where few errors are (Yannakoudakis and Fawthrop 1983). Deviation: the authors' nlpaug has a
list of misspelt words; here patterns give every word some errors.
"""

import re

import numpy as np

from .word_edits import drawn_words, replaced

# Spellings of one sound that are taken for each other, and letters that are not heard.
ALIKE = """ie/ei ance/ence ant/ent able/ible ary/ery er/or ar/er tion/sion cian/tion ious/eous
ise/ice se/ce ea/ee ai/ay ou/ow oa/o au/aw y/i a/e e/i o/u f/ph k/ck s/c j/dg"""
UNHEARD = """gh/ '/ ’/ mb/m rh/r sc/s ui/i ue/e dge/ge cq/q nm/m bb/b cc/c dd/d ff/f gg/g ll/l mm/m
nn/n pp/p rr/r ss/s tt/t zz/z"""
PAIRS = [tuple(pair.split("/")) for pair in ALIKE.split()]
PAIRS += [(b, a) for a, b in PAIRS] + [tuple(pair.split("/")) for pair in UNHEARD.split()]
SPELLINGS = tuple((re.compile(right), wrong) for right, wrong in PAIRS)

# The keys that touch each letter's on an English keyboard.
NEIGHBOURS = dict(
    pair.split(":")
    for pair in """q:wa w:qeas e:wrsd r:etdf t:ryfg y:tugh u:yihj i:uojk o:ipkl p:ol
    a:qwsz s:weadzx d:ersfxc f:rtdgcv g:tyfhvb h:yugjbn j:uihknm k:iojlm l:opk
    z:asx x:sdzc c:dfxv v:fgcb b:ghvn n:hjbm m:jkn""".split()
)

# Shares of all errors. Omission is the commonest slip of the hand, doubling the commonest insertion
# (Pollock and Zamora 1983); the numbers themselves are this study's.
SHARES = {"sounds": 0.40, "omission": 0.24, "doubling": 0.14, "transposition": 0.12, "slip": 0.10}


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
