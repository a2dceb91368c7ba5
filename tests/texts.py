"""Sentences, and what several tests do with them."""

import numpy as np

from mocose_study.data import world
from mocose_study.rewriting.word_edits import WORD

SENTENCES = world.sentences(40, seed=11)
ODD = ["3.5 % of Café-goers (ca. 1998) said: “don't — stop!”", "", "42 + 1 = 43", "[MASK] is a mask ."]


def rng(seed=0):
    return np.random.default_rng(seed)


def words(text):
    return WORD.findall(text)


def hashed_words(sentences, dim):
    """An encoder: hashed bags of words."""
    x = np.zeros((len(sentences), dim), np.float32)
    for row, sentence in enumerate(sentences):
        for word in sentence.lower().split():
            x[row, sum(map(ord, word)) % dim] += 1
    return x
