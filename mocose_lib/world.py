"""Generated English: sentences, graded pairs and small labelled sets.

An event (`events.py`) is a meaning, a telling (`tellings.py`) puts it into words. Two tellings of
one event are a paraphrase; an event edited by a rule of the lexicon makes a pair whose grade on
SemEval's scale, 0 to 5, is known by construction.
"""

import zlib
from collections.abc import Callable
from random import Random

import pandas as pd

from .events import draw_event, edit_event
from .lexicon import lexicon
from .tellings import Telling, remark

STS_TASKS = ("captions", "bulletins", "glossary", "counsel", "chronicle", "almanac", "puzzles")
DEV_TASK = "almanac"
TRANSFER_TASKS = ("topic", "polarity", "paraphrase")
OWNERS = ("dev", "test", "train", "train", "train")


def sentences(n: int, seed: int = 0) -> list[str]:
    """n different unlabelled sentences of 5 to 25 words; a smaller n gives a prefix.

    ValueError if n is negative.
    """
    _check(n)
    rng, scenes = Random(f"sentences {seed}"), list(lexicon().scenes)
    weights = lexicon().stream["kinds"]
    rows = _distinct(n, 1, lambda: _sentence(rng, "train", _weighted(rng, weights), scenes))
    return [text for (text,) in rows]


def sts_pairs(task: str, n: int, seed: int = 0, split: str = "test") -> pd.DataFrame:
    """n different pairs of a task: subset (the phenomenon), score (0 to 5, in halves), sentences.

    Only DEV_TASK has a "dev" split; no sentence of it is in any test split or among the unlabelled
    sentences. ValueError for an unknown task or split and for a negative n.
    """
    _check(n, "task", task, STS_TASKS)
    _check(n, f"split of {task}", split, ("test", "dev") if task == DEV_TASK else ("test",))
    rng, mix = Random(f"{task} {split} {seed}"), lexicon().tasks[task]
    rows = _distinct(n, 2, lambda: _pair(rng, split, mix, mix["phenomena"]))
    table = pd.DataFrame(rows, columns=["sentence1", "sentence2", "subset", "score"])
    return table[["subset", "score", "sentence1", "sentence2"]]


def classification(task: str, n: int, seed: int = 0) -> pd.DataFrame:
    """n different labelled examples: split (train, dev, test: 60, 20, 20 %), label, sentence.

    "paraphrase" has sentence1 and sentence2 in place of sentence. ValueError for an unknown task
    and for a negative n.
    """
    _check(n, "task", task, TRANSFER_TASKS)
    rng = Random(f"{task} {seed}")
    names = ["sentence1", "sentence2"] if task == "paraphrase" else ["sentence"]
    rows = _distinct(n, len(names), lambda: _labelled(rng, task))
    table = pd.DataFrame(rows, columns=[*names, "label"])
    dev, test = n * 6 // 10, n * 8 // 10
    table["split"] = ["train" if i < dev else "dev" if i < test else "test" for i in range(n)]
    return table[["split", "label", *names]]


def _check(n: int, what: str = "", name: str = "", known: tuple[str, ...] = ("",)) -> None:
    if name not in known:
        raise ValueError(f"unknown {what} {name!r}: use one of {', '.join(known)}")
    if n < 0:
        raise ValueError(f"n is {n}, but a number of sentences or pairs is 0 or more")


def _distinct(n: int, texts: int, draw: Callable[[], tuple | None]) -> list[tuple]:
    """n rows that differ in their first columns, `texts` of them."""
    rows = {}
    while len(rows) < n:
        if row := draw():
            rows.setdefault(row[:texts], row)
    return list(rows.values())


def _weighted(rng: Random, weights: dict[str, float]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def _owned(owner: str, tell: Callable[[], Telling | str]) -> Telling | str | None:
    """A telling of fit length that belongs to `owner`, or None after 20 attempts.

    A sentence belongs to one part for ever, whatever the seed, so that no training text holds a
    test sentence.
    """

    def fits(text: str) -> bool:
        part = OWNERS[zlib.crc32(text.lower().encode()) % len(OWNERS)]
        return 5 <= len(text.split()) <= 25 and part == owner

    tellings = (tell() for _ in range(20))
    return next((telling for telling in tellings if fits(str(telling))), None)


def _sentence(rng: Random, owner: str, kind: str, scenes: list[str]) -> tuple | None:
    if kind in ("event", "pair"):
        genre = _weighted(rng, lexicon().stream["genres"])
        event = draw_event(rng, genre, rng.choice(scenes), kind == "pair")
        told = _owned(owner, lambda: Telling(rng, event))
    else:
        told = _owned(owner, lambda: remark(rng, kind))
    return told and (str(told),)


def _pair(rng: Random, owner: str, mix: dict, phenomena: dict[str, float]) -> tuple | None:
    """Two sentences, the phenomenon that makes them alike or not, and their grade."""
    name, altered = _weighted(rng, phenomena), None
    phenomenon, scenes = lexicon().phenomena[name], list(lexicon().scenes)
    while altered is None:
        score, edits = rng.choice(phenomenon["rules"]).split(":")
        genre = _weighted(rng, mix["genres"])
        event = altered = draw_event(rng, genre, rng.choice(scenes), rng.random() < mix["pairs"])
        for edit in filter(None, map(str.strip, edits.split(","))):
            altered = altered and edit_event(rng, altered, edit)
    one = _owned(owner, lambda: Telling(rng, event))
    heard = one and frozenset(one.used)
    two = one and _owned(owner, lambda: Telling(rng, altered, heard, phenomenon["fresh"]))
    if not two or str(one) == str(two):
        return None
    return (*rng.sample([str(one), str(two)], 2), name, float(score))


def _labelled(rng: Random, task: str) -> tuple | None:
    labels, scenes = lexicon().transfer[task], lexicon().scenes
    label = rng.choice(list(labels))
    if task == "paraphrase":
        phenomena = dict.fromkeys(labels[label].split(), 1)
        row = _pair(rng, "test", lexicon().tasks[DEV_TASK], phenomena)
        return row and (*row[:2], label)
    fitting = [name for name in scenes if scenes[name]["topic"] == label]
    row = _sentence(rng, "test", labels[label], fitting)
    return row and (*row, label)
