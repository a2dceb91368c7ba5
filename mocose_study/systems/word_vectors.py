"""Average of word vectors (GloVe: Pennington et al. 2014; MoCoSE Table 1), or SIF.

SIF (Arora et al. 2017, Algorithm 1): a word weighs a / (a + p(word)), then the
projection on the first singular vector of the sentence matrix is subtracted.
Deviations: p is the word's share of the training corpus. The singular vector is that of
fixed texts (`statistics`), so that a sentence has one vector. A sentence without known
words gets the mean of all vectors instead of zeros.
"""

import re
from operator import attrgetter
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.feature_extraction.text import CountVectorizer

from mocose_lib import InputError
from mocose_study.config import Config
from mocose_study.data.corpora import UNREADABLE, load_corpus
from mocose_study.data.sources import data_file

from .base import Fitted, System, statistics_texts

PIECE = re.compile(r"n't|\w+?(?=n't)|'\w+|\w+|[^\w\s]")  # as GloVe: do n't, it 's


def read_vectors(path: Path) -> pd.DataFrame:
    """A row of numbers for each word; of a zip archive, those of its largest file.

    Raises InputError when a line is no word with numbers.
    """
    options = dict(sep=" ", quoting=3, header=None, index_col=0, dtype={0: str})
    try:
        source = path
        if path.suffix == ".zip":  # glove.6B.zip has a file for each width
            archive = ZipFile(path)
            source = archive.open(max(archive.infolist(), key=attrgetter("file_size")))
        frame = pd.read_csv(source, keep_default_na=False, **options)
        frame = frame[~frame.index.duplicated()].astype(np.float32)
    except (*UNREADABLE, ValueError, BadZipFile) as cause:
        what = "has a line without word and numbers"
        raise InputError(f"{path.name} {what}: {cause}.") from cause
    if frame.empty:
        raise InputError(f"{path.name} holds no word vectors.")
    return frame


class WordAverage:
    """Sentences to averages of word vectors; `weights` has one number a word."""

    def __init__(self, frame: pd.DataFrame):
        self.vectors = frame.to_numpy()
        self.rows = {word: i for i, word in enumerate(frame.index)}
        self.counts = CountVectorizer(analyzer=self.words, vocabulary=self.rows)
        self.weights = np.ones(len(frame), np.float32)
        self.common = np.zeros(frame.shape[1], np.float32)  # SIF's direction

    def words(self, sentence: str) -> list[str]:
        """The known words; a token that is unknown as a whole is cut at punctuation."""
        tokens = sentence.lower().split()
        cut = (
            [token] if token in self.rows else PIECE.findall(token) for token in tokens
        )
        return [piece for pieces in cut for piece in pieces if piece in self.rows]

    def encode(self, sentences) -> Float[np.ndarray, "n dim"]:
        counts = self.counts.transform(sentences)
        number = np.asarray(counts.sum(1))
        total = counts @ (self.weights[:, None] * self.vectors)
        vectors = total / np.maximum(number, 1)
        vectors = np.where(number == 0, self.vectors.mean(0), vectors)
        vectors = vectors.astype(np.float32)
        return vectors - np.outer(vectors @ self.common, self.common)

    def weight_by_frequency(self, corpus, texts, a: float) -> None:
        """SIF: weights from the words of `corpus`, the common direction of `texts`."""
        count = np.asarray(self.counts.transform(corpus).sum(0))[0]
        self.weights = (a / (a + count / max(count.sum(), 1))).astype(np.float32)
        self.common = np.linalg.svd(self.encode(texts), full_matrices=False)[2][0]


class WordVectors(System):
    name, label, colour = "word_vectors", "GloVe", "#999933"
    reads, own = ("vectors", "corpus"), ("statistics", "vectors", "sif")
    draws, pooler = False, True
    saved_whole = staticmethod(lambda config: False)

    @staticmethod
    def inputs(config: Config, encoder=None, bar: bool = False) -> tuple:
        """The average of a file's vectors, and the corpus that SIF counts words in."""
        average = WordAverage(read_vectors(data_file(config.vectors)))
        corpus = load_corpus(config.corpus, config.corpus_size) if config.sif else None
        return average, corpus

    @staticmethod
    def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
        average, corpus = WordVectors.inputs(config)
        if corpus:
            texts = corpus["sentence"], statistics_texts(config)
            average.weight_by_frequency(*texts, config.sif)
        return Fitted(average.encode)
