"""The words of a text, and their misspellings."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from texts import ODD, SENTENCES, rng, words

from mocose_study.rewriting import typos
from mocose_study.rewriting.word_edits import WORD, drawn_words, replaced


def test_words_by_hand():
    assert words("The 3rd hen's b2b e-mail, O'Neil I said: don’t.") == [
        "The",
        "hen's",
        "mail",
        "said",
        "don’t",
    ]
    text = "A hen (brown) slept."
    first, _, last = WORD.finditer(text)
    assert replaced(text, [first, last], ["cat", "ran"]) == "A cat (brown) ran."
    assert replaced(text, [], []) == text and drawn_words("7 % !", 0.5, rng()) == []


@pytest.mark.parametrize("rate, number", [(0.01, 1), (0.39, 3), (1.0, 10)])
def test_the_share_is_rounded_down_and_at_least_one(rate, number):
    text = "one two three four five six seven eight nine ten"
    seen = set()
    for seed in range(50):
        found = drawn_words(text, rate, rng(seed))
        starts = [word.start() for word in found]
        assert len(found) == number and starts == sorted(set(starts))
        seen.update(word[0] for word in found)
    assert len(seen) == 10  # every word has its turn


def test_errors_by_hand():
    cat = typos.errors("cat")
    assert cat["omission"] == ["ct", "ca"] and cat["doubling"] == ["caat", "catt"]
    assert typos.errors("cats")["transposition"] == ["ctas", "cast"]
    assert set(typos.errors("as")["slip"]) == {"aa", "ad", "aw", "ae", "az", "ax"}
    for word, wrong in (
        ("believe", "beleive"),
        ("accommodate", "acommodate"),
        ("don't", "dont"),
        ("independent", "independant"),
    ):
        assert wrong in typos.errors(word)["sounds"]


def test_keys_touch_each_other():
    """Each key lies between two of the row above, and touches those beside it."""
    rows = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    place = {key: (2 * x + y, y) for y, row in enumerate(rows) for x, key in enumerate(row)}
    touching = {(2, 0), (-2, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)}
    for a, (x, y) in place.items():
        beside = {b for b, (u, v) in place.items() if (u - x, v - y) in touching}
        assert set(typos.NEIGHBOURS[a]) == beside


def test_errors_come_in_their_shares():
    """4,000 misspellings of one word against the probability of each, summed over the kinds."""
    expected = Counter()
    for kind, found in typos.errors("planet").items():
        wrong = [w for w in found if w != "planet"]
        for w in wrong:
            expected[w] += typos.SHARES[kind] / len(wrong)
    assert sum(expected.values()) == pytest.approx(1)
    draw = rng()
    found = Counter(typos.misspelt("planet", draw) for _ in range(4_000))
    assert set(found) <= set(expected)
    for wrong, p in expected.items():
        assert abs(found[wrong] - 4_000 * p) < 5 * np.sqrt(4_000 * p) + 1, wrong


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_so_many_words_are_misspelt_and_nothing_else(rate):
    plain = [[w for w in s.split() if len(w) > 3 and w.isalpha()] for s in SENTENCES]
    texts = list(map(" ".join, plain))
    for text, wrong in zip(texts, typos.with_typos(texts, rate, rng()), strict=True):
        a, b = words(text), words(wrong)
        changed = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
        assert len(changed) == max(1, int(rate * len(a)))
        assert all(x[0] == y[0] and abs(len(x) - len(y)) <= 2 for x, y in changed)
        assert WORD.split(text) == WORD.split(wrong)


def test_typos_are_a_function_of_the_generator():
    """Where these change, `kinds.toml` needs a new version: runs on record have the old ones."""
    first, again, other = (typos.with_typos(SENTENCES, 0.3, rng(seed)) for seed in (1, 1, 2))
    assert first == again != other
    digest = hashlib.sha256("\n".join(first).encode()).hexdigest()
    assert digest == "6e623a9a69c371f8594db3359faf505187435381a7712c8c64f1c1f4678c41c9"


def test_typos_leave_what_is_no_word():
    wrong = typos.with_typos(ODD, 1.0, rng())
    assert wrong[1:3] == ODD[1:3] and "(" in wrong[0] and "3.5 %" in wrong[0] and "— " in wrong[0]
    assert typos.with_typos(["of NATO"], 1.0, rng())[0] != "of NATO"
