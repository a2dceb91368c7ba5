"""Counts of words: what a benchmark gives to a system that knows no meanings.

The counts of a sentence's words and punctuation marks are hashed into `DIMENSIONS`
numbers. With `idf` each count is weighted by its smoothed inverse document frequency in
the `statistics`.
"""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from mocose_study.config import Config

from .base import Fitted, System, statistics_texts

DIMENSIONS = 2048
WORD = r"(?u)\w+|[^\w\s]"


class WordCounts(System):
    name, label, colour = "word_counts", "word counts", "#A0A0A0"
    reads, own = ("corpus",), ("statistics", "idf")
    draws, pooler = False, True
    saved_whole = staticmethod(lambda config: False)

    @staticmethod
    def inputs(config: Config, encoder=None, bar: bool = False) -> list[str] | None:
        return statistics_texts(config) if config.idf else None

    @staticmethod
    def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
        options = {"n_features": DIMENSIONS, "token_pattern": WORD, "norm": None}
        counts = HashingVectorizer(**options, dtype=np.float32)
        if texts := WordCounts.inputs(config):
            counts = make_pipeline(counts, TfidfTransformer(norm=None)).fit(texts)
        return Fitted(lambda sentences: counts.transform(sentences).toarray())
