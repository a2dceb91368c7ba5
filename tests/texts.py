"""Sentences and pairs of the open data, and what several tests do with sentences."""

import errno
import lzma
import time
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import torch

ROOT = Path(__file__).resolve().parents[1]  # the repository
ODD = ["3.5 % of Café-goers (ca. 1998) said: “don't — stop!”", ""]
ODD += ["42 + 1 = 43", "[MASK] is a mask ."]


def open_sentences(number: int, start: int = 0) -> list[str]:
    """`number` sentences of data/open from line `start` on."""
    path = ROOT / "data" / "open" / "wikipedia.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in islice(file, start, start + number)]


def open_pairs(task: str, number: int) -> pd.DataFrame:
    """The first pairs of a table in data/open: columns score, sentence1, sentence2."""
    path = ROOT / "data" / "open" / f"{task}.tsv"
    return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, nrows=number)


def articles(path, documents, sentences):
    """A text file of so many documents of so many open sentences."""
    texts = open_sentences(documents * sentences, start=300)
    parts = (texts[i : i + sentences] for i in range(0, len(texts), sentences))
    path.write_text("\n\n".join(map("\n".join, parts)) + "\n")
    return path


SENTENCES = open_sentences(40, start=1000)


def rng(seed=0):
    return np.random.default_rng(seed)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def wait_for(condition, seconds=900):
    """Polls; a hang fails the test, a slow machine does not."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def raising(error):
    """A function that raises it, whatever it is given."""

    def call(*_, **__):
        raise error

    return call


stop = raising(KeyboardInterrupt)
full = raising(OSError(errno.ENOSPC, "No space left on device"))


def hashed_words(sentences, dim):
    """An encoder: hashed bags of words."""
    x = np.zeros((len(sentences), dim), np.float32)
    for row, sentence in enumerate(sentences):
        for word in sentence.lower().split():
            x[row, sum(map(ord, word)) % dim] += 1
    return x
