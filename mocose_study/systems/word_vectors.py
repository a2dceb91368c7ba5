"""Average of word vectors (GloVe: Pennington et al. 2014; MoCoSE Table 1).

A sentence without known words gets the mean of all vectors instead of zeros.
"""

import re
from operator import attrgetter
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd
from jaxtyping import Float

from mocose_lib import InputError
from mocose_study.config import Config
from mocose_study.data.corpora import UNREADABLE
from mocose_study.data.sources import data_file

from .base import Fitted, System

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
    """Sentences to averages of word vectors."""

    def __init__(self, frame: pd.DataFrame):
        self.vectors = frame.to_numpy()
        self.rows = {word: i for i, word in enumerate(frame.index)}

    def words(self, sentence: str) -> list[str]:
        """The known words; a token that is unknown as a whole is cut at punctuation."""
        tokens = sentence.lower().split()
        whole = ([t] if t in self.rows else PIECE.findall(t) for t in tokens)
        return [word for words in whole for word in words if word in self.rows]

    def encode(self, sentences) -> Float[np.ndarray, "n dim"]:
        known = ([self.rows[word] for word in self.words(s)] for s in sentences)
        return np.array([self.vectors[rows or slice(None)].mean(0) for rows in known])


class WordVectors(System):
    name, label, colour = "word_vectors", "GloVe", "#999933"
    reads, own = ("vectors",), ("vectors",)
    draws, pooler = False, True
    saved_whole = staticmethod(lambda config: False)

    @staticmethod
    def inputs(config: Config, encoder=None, bar: bool = False) -> WordAverage:
        """The average of a file's vectors."""
        return WordAverage(read_vectors(data_file(config.vectors)))

    @staticmethod
    def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
        return Fitted(WordVectors.inputs(config).encode)
