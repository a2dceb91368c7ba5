"""Words counted: what a benchmark gives to a system that knows no meanings.

A sentence is the counts of its words and punctuation marks, hashed into `DIMENSIONS` numbers; with
`idf` each weighs by the logarithm of how few texts have it (smoothed; of `statistics`).
"""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from mocose_study.config import Config
from mocose_study.systems.base import Fitted, statistics_texts

DIMENSIONS = 2048
WORD = r"(?u)\w+|[^\w\s]"


def inputs(config: Config, encoder=None, bar: bool = False) -> list[str] | None:
    return statistics_texts(config) if config.idf else None


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    counts = HashingVectorizer(
        n_features=DIMENSIONS, token_pattern=WORD, norm=None, dtype=np.float32)  # fmt: skip
    if config.idf:
        counts = make_pipeline(counts, TfidfTransformer(norm=None)).fit(inputs(config))
    return Fitted(lambda sentences: counts.transform(sentences).toarray())
