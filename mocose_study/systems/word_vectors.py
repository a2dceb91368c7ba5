"""Average of word vectors (GloVe: Pennington et al. 2014; MoCoSE Table 1), and with SIF weights.

SIF (Arora et al. 2017, Algorithm 1): a word weighs a / (a + p(word)), then the projection on the
first singular vector of the sentence matrix is taken off. Deviations: p is the word's share of the
training corpus; the singular vector is that of fixed texts (`statistics`), so that a sentence has
one vector; a sentence without any known word gets the mean of all vectors instead of zeros.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
from jaxtyping import Float

from mocose_study.config import Config, InputError
from mocose_study.data.corpora import load_corpus, text_lines
from mocose_study.systems.base import Fitted, data_file, statistics_texts

PIECE = re.compile(r"n't|\w+?(?=n't)|'\w+|\w+|[^\w\s]")  # as GloVe's corpus: do n't, it 's


def read_vectors(path: Path) -> tuple[dict[str, int], Float[np.ndarray, "words dim"]]:
    """Row number of every word, and the rows. Raises InputError, naming the line, on a bad one."""
    rows: dict[str, int] = {}
    vectors: list[np.ndarray] = []
    for number, line in enumerate(filter(None, text_lines([path])), 1):
        word, *values = line.split(" ")
        if not values or (vectors and len(values) != len(vectors[0])):
            expected = len(vectors[0]) if vectors else "some"
            raise InputError(
                f"{path.name} has {len(values)} numbers in line {number}; expected are {expected}."
            )
        try:
            vectors.append(np.array(values, np.float32))
        except ValueError as cause:
            raise InputError(f"{path.name}, line {number}, is no word with numbers.") from cause
        rows.setdefault(word, len(rows))
        if len(rows) < len(vectors):  # a word's second vector
            vectors.pop()
    if not vectors:
        raise InputError(f"{path.name} holds no word vectors.")
    return rows, np.stack(vectors)


class WordAverage:
    """Sentences to averages of word vectors; `weights` has one number a word."""

    def __init__(self, rows: dict[str, int], vectors: Float[np.ndarray, "words dim"]):
        self.rows, self.vectors = rows, vectors
        self.weights = np.ones(len(vectors), np.float32)
        self.common = np.zeros(vectors.shape[1], np.float32)  # SIF's direction, taken off

    def words(self, sentence: str) -> list[int]:
        """Rows of the known words; a token that is unknown as a whole is cut at punctuation."""
        tokens = sentence.lower().split()
        pieces = (p for t in tokens for p in ([t] if t in self.rows else PIECE.findall(t)))
        return [self.rows[p] for p in pieces if p in self.rows]

    def encode(self, sentences) -> Float[np.ndarray, "n dim"]:
        vectors = np.tile(self.vectors.mean(0), (len(sentences), 1))
        for i, sentence in enumerate(sentences):
            if words := self.words(sentence):
                vectors[i] = self.weights[words] @ self.vectors[words] / len(words)
        return vectors - np.outer(vectors @ self.common, self.common)

    def weight_by_frequency(self, corpus, texts, a: float) -> None:
        """SIF: weights from the words of `corpus`, the common direction from `texts`."""
        count = Counter(word for sentence in corpus for word in self.words(sentence))
        share = np.array([count[i] for i in range(len(self.vectors))]) / max(count.total(), 1)
        self.weights = (a / (a + share)).astype(np.float32)
        self.common = np.linalg.svd(self.encode(texts), full_matrices=False)[2][0]


def inputs(config: Config, encoder=None, bar: bool = False) -> tuple:
    """The average of a file's vectors, and the corpus that SIF counts words in.

    Raises InputError as `data_file`, `read_vectors` and `load_corpus`.
    """
    average = WordAverage(*read_vectors(data_file(config.vectors)))
    return average, load_corpus(config.corpus, config.corpus_size) if config.sif else None


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    average, corpus = inputs(config)
    if corpus:
        average.weight_by_frequency(corpus["sentence"], statistics_texts(config), config.sif)
    return Fitted(average.encode)
