"""Sentences, and what the tests of text augmentations do with them."""

import numpy as np

from mocose_lib import world
from mocose_lib.word_edits import WORD

SENTENCES = world.sentences(40, seed=11)
ODD = ["3.5 % of Café-goers (ca. 1998) said: “don't — stop!”", "", "42 + 1 = 43", "[MASK] is a mask ."]


def rng(seed=0):
    return np.random.default_rng(seed)


def words(text):
    return WORD.findall(text)
