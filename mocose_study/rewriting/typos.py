"""A model of English misspellings: sound-alikes, lost, doubled, swapped and slipped letters.

A word gets one error, as 90-95 % of misspelt words have (Pollock and Zamora 1983). The first letter
stays, where few errors are (Yannakoudakis and Fawthrop 1983). Deviation: the authors' nlpaug has a
list of misspelt words; here patterns give every word some errors.
"""

import re
from collections.abc import Iterator

import numpy as np

from .word_edits import drawn_words, replaced

ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")  # each key lies between two of the row above

# Spellings of one sound that are taken for each other, and letters that are not heard.
ALIKE = """ie/ei ance/ence ant/ent able/ible ary/ery er/or ar/er tion/sion cian/tion ious/eous
ise/ice se/ce ea/ee ai/ay ou/ow oa/o au/aw y/i a/e e/i o/u f/ph k/ck s/c j/dg"""
UNHEARD = """gh/ '/ ’/ mb/m rh/r sc/s ui/i ue/e dge/ge cq/q nm/m bb/b cc/c dd/d ff/f gg/g ll/l mm/m
nn/n pp/p rr/r ss/s tt/t zz/z"""
PAIRS = [tuple(pair.split("/")) for pair in ALIKE.split()]
PAIRS += [(b, a) for a, b in PAIRS] + [tuple(pair.split("/")) for pair in UNHEARD.split()]
SPELLINGS = tuple((re.compile(right), wrong) for right, wrong in PAIRS)


def neighbours() -> dict[str, str]:
    """The keys that touch each letter's on an English keyboard."""
    place = {key: (2 * i + j, j) for j, row in enumerate(ROWS) for i, key in enumerate(row)}
    touching = {(2, 0), (-2, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)}  # half keys, rows
    return {
        a: "".join(b for b, q in place.items() if (q[0] - p[0], q[1] - p[1]) in touching)
        for a, p in place.items()
    }


NEIGHBOURS = neighbours()


def sound_alikes(word: str) -> Iterator[str]:
    for right, wrong in SPELLINGS:
        for found in right.finditer(word, 1):
            yield word[: found.start()] + wrong + word[found.end() :]


def omissions(word: str) -> Iterator[str]:
    return (word[:i] + word[i + 1 :] for i in range(1, len(word)))


def doublings(word: str) -> Iterator[str]:
    return (word[: i + 1] + word[i:] for i in range(1, len(word)))


def transpositions(word: str) -> Iterator[str]:
    return (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1))


def slips(word: str) -> Iterator[str]:
    """A neighbouring key in place of the right one."""
    return (
        word[:i] + key + word[i + 1 :]
        for i in range(1, len(word))
        for key in NEIGHBOURS.get(word[i], "")
    )


# Shares of all errors. Omission is the commonest slip of the hand, doubling the commonest insertion
# (Pollock and Zamora 1983); the numbers themselves are this study's.
ERRORS = (
    (sound_alikes, 0.40),
    (omissions, 0.24),
    (doublings, 0.14),
    (transpositions, 0.12),
    (slips, 0.10),
)


def misspelt(word: str, rng: np.random.Generator) -> str:
    """`word` (two letters or more) with one error."""
    possible = [(share, [w for w in make(word) if w != word]) for make, share in ERRORS]
    possible = [(share, wrong) for share, wrong in possible if wrong]
    shares = np.array([share for share, _ in possible])
    _, wrong = possible[rng.choice(len(possible), p=shares / shares.sum())]
    return wrong[rng.integers(len(wrong))]


def with_typos(texts: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Each text with a share `rate` of its words misspelt, at least one where it has any."""
    drawn = [drawn_words(text, rate, rng) for text in texts]
    return [
        replaced(text, words, [misspelt(word[0], rng) for word in words])
        for text, words in zip(texts, drawn, strict=True)
    ]
