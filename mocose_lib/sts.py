"""Semantic textual similarity: Spearman between cosine similarity and gold scores.

Every number's name carries task, split and aggregation: `STS12 test all` pools the pairs of all
subsets (as the papers do), `STS12 test mean` and `... wmean` average over subsets, plainly and
weighted by pairs. All values are Spearman x 100.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from . import stats, tasks

log = logging.getLogger(__name__)
Encode = Callable[[Sequence[str]], np.ndarray]  # n sentences -> (n, dim)
AVERAGE = "sts_avg"  # mean over the seven tasks, test split, "all"
DEV = "sts_dev"  # the dev split used to choose checkpoints


def remembering(encode: Encode) -> Encode:
    """`encode`, called once for every distinct sentence, whatever number of measures ask for it."""
    known: dict[str, np.ndarray] = {}

    def remembered(sentences: Sequence[str]) -> np.ndarray:
        if new := [s for s in dict.fromkeys(sentences) if s not in known]:
            known.update(zip(new, encode(new), strict=True))
        return np.array([known[s] for s in sentences])

    return remembered


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Row-wise cosine similarity of two (n, dim) arrays, in float64; NaN for a zero vector."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def spearman(similarity: np.ndarray, gold: np.ndarray) -> float:
    """Spearman correlation x 100; NaN, with a warning in the log, where it is undefined."""
    if not np.isfinite(similarity).all():
        log.warning("an embedding holds NaN or is all zero: no correlation can be computed")
        return float("nan")
    if np.ptp(similarity) < 1e-12 or len(gold) < 2 or np.ptp(gold) == 0:
        log.warning("all similarities (or all gold scores) are equal: the correlation is undefined")
        return float("nan")
    return 100 * float(spearmanr(similarity, gold).statistic)


@dataclass(frozen=True)
class Benchmark:
    """STS tasks as frames, and all their distinct sentences, to be encoded in one pass."""

    tasks: dict[str, pd.DataFrame]  # "STS12 test" -> subset, score, sentence1, sentence2

    def sentences(self) -> list[str]:
        columns = (f[c] for f in self.tasks.values() for c in ("sentence1", "sentence2"))
        return list(dict.fromkeys(s for column in columns for s in column))

    def similarities(self, encode: Encode) -> dict[str, np.ndarray]:
        """Cosine similarity of every pair, by task."""
        encode = remembering(encode)
        encode(self.sentences())  # all tasks in one pass, not one after the other
        return {
            name: cosine(encode(f["sentence1"]), encode(f["sentence2"]))
            for name, f in self.tasks.items()
        }

    def score(self, encode: Encode) -> dict[str, float]:
        """The three aggregations of every task, and the average over tasks ("all")."""
        scores = {}
        for name, similarity in self.similarities(encode).items():
            scores |= {f"{name} {how}": v for how, v in aggregate(self.tasks[name], similarity).items()}
        scores["average"] = float(np.mean([v for k, v in scores.items() if k.endswith(" all")]))
        return scores

    def resampled(self, encode: Encode, n: int) -> np.ndarray:
        """The average over tasks ("all") on each of `n` bootstrap resamples of the pairs: (n,)."""
        found = self.similarities(encode).items()
        return np.mean([
            stats.resampled(self.tasks[name]["score"], similarity, n, seed)
            for seed, (name, similarity) in enumerate(found)
        ], axis=0)  # fmt: skip


def aggregate(frame: pd.DataFrame, similarity: np.ndarray) -> dict[str, float]:
    """Spearman over all pairs, and its plain and pair-weighted mean over subsets.

    Subsets whose gold scores are all equal have no correlation; where there are no others (the
    generated tasks) the two means are left out.
    """
    gold = frame["score"].to_numpy(float)
    found = {"all": spearman(similarity, gold)}
    subsets = [r for r in frame.groupby("subset").indices.values() if np.ptp(gold[r]) > 0]
    if subsets:
        each = [spearman(similarity[rows], gold[rows]) for rows in subsets]
        found["mean"] = float(np.mean(each))
        found["wmean"] = float(np.average(each, weights=[len(rows) for rows in subsets]))
    return found


@cache
def test_benchmark(name: str) -> Benchmark:
    """The seven tasks' test splits of a benchmark (`Config.benchmark`)."""
    return Benchmark(
        {f"{task} test": tasks.sts_pairs(task, "test", name) for task in tasks.sts_tasks(name)}
    )


@cache
def dev_benchmark(name: str) -> Benchmark:
    task = tasks.dev_task(name)
    return Benchmark({f"{task} dev": tasks.sts_pairs(task, "dev", name)})


def evaluate(encode: Encode, benchmark: str) -> dict[str, float]:
    """All numbers of the seven tasks, with `sts_avg`, and `sts_dev`."""
    test = test_benchmark(benchmark).score(encode)
    return {AVERAGE: test.pop("average"), DEV: dev_score(encode, benchmark), **test}


def dev_score(encode: Encode, benchmark: str) -> float:
    """Spearman x 100 on all pairs of the dev split."""
    return dev_benchmark(benchmark).score(encode)["average"]


def test_score(encode: Encode, benchmark: str) -> float:
    """The seven tasks' average on their test splits: the published choice of checkpoints."""
    return test_benchmark(benchmark).score(encode)["average"]
