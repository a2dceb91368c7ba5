"""Semantic textual similarity: Spearman x 100 between cosines and gold scores.

`STS12 test all` pools the pairs of all subsets, as the papers do. `STS12 test mean` and
`STS12 test wmean` average over subsets, plainly and weighted by pairs.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from ..settings import InputError
from .geometry import unit

log = logging.getLogger(__name__)
Encode = Callable[[Sequence[str]], np.ndarray]  # n sentences -> (n, dim)
Table = Any  # columns score, sentence1, sentence2, maybe subset; see `checked`
Benchmark = Mapping[str, Table]  # "STS12 test" -> its pairs


def evaluate(encode: Encode, benchmark: Benchmark) -> dict[str, float]:
    """The aggregations of each task, and "average": the mean over tasks of "all".

    `encode` is called once for all distinct sentences. Undefined scores are NaN, and
    logged. Raises InputError as `checked`, where no tables are given by name, and where
    `encode` does not give a vector for each sentence.
    """
    if not callable(encode) or hasattr(encode, "encode"):
        raise InputError("encode must be a function; give that of a model, m.encode.")
    if not isinstance(benchmark, Mapping) or not benchmark:
        raise InputError("tables need a name each; give {'my task': pairs}.")
    benchmark = {name: checked(name, table) for name, table in benchmark.items()}
    scores = {}
    for name, similarity in similarities(encode, benchmark).items():
        for how, value in aggregate(benchmark[name], similarity).items():
            scores[f"{name} {how}"] = value
    if names := [name for name, score in scores.items() if np.isnan(score)]:
        why = "all similarities or gold scores are equal, or vectors are NaN or zero"
        log.warning("%d scores, as %r, are undefined: %s", len(names), names[0], why)
    pooled = [scores[f"{name} all"] for name in benchmark]
    return scores | {"average": float(np.mean(pooled))}


def checked(name: str, table: Table) -> Table:
    """The table: a dict of columns, a DataFrame, or anything that has `to_pandas`.

    Raises InputError with column and row of what is missing or of the wrong kind.
    """
    table = table.to_pandas() if hasattr(table, "to_pandas") else table
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        raise InputError(f"{name} is no table of pairs, but {table!r:.60}.")
    wanted = {"sentence1": str, "sentence2": str, "score": (int, float, np.number)}
    wanted |= {"subset": str} if "subset" in table else {}
    for column, kind in wanted.items():
        if column not in table or isinstance(table[column], str):
            raise InputError(f"{name} has no column {column!r}; it needs {[*wanted]}.")
        for row, value in enumerate(table[column], 1):
            sound = isinstance(value, kind) and not isinstance(value, bool)
            if not sound or (column == "score" and not np.isfinite(value)):
                raise InputError(f"{name} has {value!r} as {column!r} of pair {row}.")
    sizes = [len(table[column]) for column in wanted]
    if not 0 < min(sizes) == max(sizes):
        raise InputError(f"{name} needs pairs; {list(wanted)} have {sizes} rows.")
    return table


def similarities(encode: Encode, benchmark: Benchmark) -> dict[str, np.ndarray]:
    """Cosine similarity of each pair, by task."""
    encode = cached(encode)
    sides = [t[c] for t in benchmark.values() for c in ("sentence1", "sentence2")]
    encode([sentence for side in sides for sentence in side])
    return {
        name: cosine(encode(table["sentence1"]), encode(table["sentence2"]))
        for name, table in benchmark.items()
    }


def aggregate(table: Table, similarity: np.ndarray) -> dict[str, float]:
    """Spearman over all pairs, and its means over subsets whose gold scores differ."""
    gold = np.asarray(table["score"], float)
    scores = {"all": spearman(similarity, gold)}
    subset = np.asarray(table.get("subset", []))
    rows = [np.flatnonzero(subset == name) for name in dict.fromkeys(subset)]
    if rows := [r for r in rows if np.ptp(gold[r]) > 0]:
        each = [spearman(similarity[r], gold[r]) for r in rows]
        scores["mean"] = float(np.mean(each))
        scores["wmean"] = float(np.average(each, weights=[len(r) for r in rows]))
    return scores


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Row-wise cosine of two (n, dim) arrays, in float64; NaN for a zero vector."""
    return (unit(a) * unit(b)).sum(1)


def spearman(similarity: np.ndarray, gold: np.ndarray) -> float:
    """Spearman x 100; NaN where it is undefined: values all equal, or not finite."""
    if len(gold) < 2 or np.ptp(gold) == 0 or not 1e-12 <= np.ptp(similarity) < np.inf:
        return np.nan
    return 100 * float(spearmanr(similarity, gold).statistic)


def cached(encode: Encode) -> Encode:
    """`encode`, called once for each distinct sentence, however often it is asked."""
    known: dict[str, np.ndarray] = {}

    def encode_once(sentences: Sequence[str]) -> np.ndarray:
        if new := [s for s in dict.fromkeys(sentences) if s not in known]:
            shape = np.shape(vectors := encode(new))
            if len(shape) != 2 or len(vectors) != len(new):
                asked = f"for {len(new)} sentences; it must give a vector for each."
                raise InputError(f"encode gave an array {shape} {asked}")
            known.update(zip(new, vectors, strict=True))
        return np.array([known[s] for s in sentences])

    return encode_once
