"""Counts of words: what a benchmark gives to a system that knows no meanings.

The counts of a sentence's words and punctuation marks are hashed into `DIMENSIONS` numbers. With
`idf` each count is weighted by its smoothed inverse document frequency in the `statistics`.
"""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from mocose_study.config import Config

from .base import Fitted, statistics_texts

DIMENSIONS = 2048
WORD = r"(?u)\w+|[^\w\s]"


def inputs(config: Config, encoder=None, bar: bool = False) -> list[str] | None:
    return statistics_texts(config) if config.idf else None


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    options = dict(
        n_features=DIMENSIONS, token_pattern=WORD, norm=None, dtype=np.float32
    )
    counts = HashingVectorizer(**options)
    if config.idf:
        counts = make_pipeline(counts, TfidfTransformer(norm=None)).fit(inputs(config))
    return Fitted(lambda sentences: counts.transform(sentences).toarray())
