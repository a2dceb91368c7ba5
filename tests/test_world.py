"""Generated English: a sound lexicon, English and reproducible text, grades that are true."""

import inspect
import os
import re
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer

from mocose_lib import world
from mocose_lib.events import Thing, draw_event
from mocose_lib.lexicon import inflect, kinds, lexicon, scales
from mocose_lib.tellings import Telling

BOOK = lexicon()
FRAMES = [frame for scene in BOOK.scenes.values() for frame in scene["frames"] + scene["social"]]
VERBS = {word.removeprefix("!") for frame in FRAMES for synset in frame.verbs for word in synset}
ADJECTIVES = {word for scale in BOOK.scales.values() for synset in scale for word in synset}
ADVERBS = {word for way in BOOK.manners.values() for synset in way for word in synset}


@pytest.fixture(scope="module")
def text() -> list[str]:
    return world.sentences(6000)


@pytest.fixture(scope="module")
def tasks() -> dict:
    return {task: world.sts_pairs(task, 400) for task in world.STS_TASKS}


def test_lexicon_has_a_thousand_content_words():
    words = {word for phrase in {*BOOK.nouns} | VERBS | ADJECTIVES for word in phrase.split()}
    assert len(BOOK.nouns) > 900 and len(VERBS) > 450 and len(words) > 1500


def test_words_are_plain_and_hypernyms_lead_to_the_root():
    for word in {*BOOK.nouns} | VERBS | ADJECTIVES | ADVERBS:
        assert re.fullmatch(r"[A-Za-z]+( [A-Za-z]+)*", word), word
    for noun in BOOK.nouns:
        assert kinds(noun)[-1] == "thing"
        assert scales(noun)


def test_every_link_of_the_lexicon_resolves():
    nouns = [noun for entries in BOOK.children.values() for noun in entries]
    raw = [word for noun in nouns for word in BOOK.nouns[noun].words]
    assert len(raw) == len(set(raw)), "a word stands for two nouns"
    assert all(kind in BOOK.nouns for kind in [*BOOK.children, *BOOK.traits] if kind != "thing")
    paired = [*BOOK.scales.values(), *BOOK.manners.values()]
    assert all(len(scale) == 2 for scale in paired), "a quality has no opposite"
    assert all(name in BOOK.scales for traits in BOOK.traits.values() for name in traits.split())
    for genre in BOOK.genres.values():
        assert all(form in BOOK.forms for form in f"{genre['event']} {genre['pair']}".split())
        assert all(tense in BOOK.tenses for tense in genre["tenses"].split())
    for mix in [*BOOK.tasks.values(), BOOK.stream]:
        assert {*mix["genres"]} <= {*BOOK.genres}
        assert {*mix.get("phenomena", ())} <= {*BOOK.phenomena}


def test_every_verb_has_its_forms():
    for verb in VERBS:
        forms = [inflect(verb, form).split()[0] for form in ("s", "past", "part", "ing")]
        assert forms[0].endswith("s") and forms[3].endswith("ing"), verb
    head = {verb.split()[0] for verb in VERBS}
    short = [verb for verb in head if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", verb)]
    assert {*short} <= {*BOOK.exceptions["ing"]}, "short verbs whose last letter doubles"


INFLECTED = [
    ("carry", "s", "carries"), ("go", "s", "goes"), ("buy", "past", "bought"),
    ("cut up", "ing", "cutting up"), ("steal", "part", "stolen"), ("die", "ing", "dying"),
    ("woman", "plural", "women"), ("family member", "plural", "family members"),
    ("city", "plural", "cities"), ("knife", "plural", "knives"),
    ("happy", "comparative", "happier"), ("famous", "comparative", "more famous"),
    ("tidy", "past", "tidied"), ("put on", "past", "put on"),
]  # fmt: skip


@pytest.mark.parametrize("phrase, form, expected", INFLECTED)
def test_inflection(phrase, form, expected):
    assert inflect(phrase, form) == expected


def some_text() -> str:
    pairs, labelled = world.sts_pairs("puzzles", 40), world.classification("topic", 40)
    return pairs.to_csv() + " ".join(world.sentences(200)) + labelled.to_csv()


def text_of_another_process(hash_seed: str) -> str:
    code = "from mocose_lib import world\n" + inspect.getsource(some_text)
    code += "print(some_text(), end='')"
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, env=environment, text=True)


def test_sentences_are_the_same_in_every_process():
    assert some_text() == text_of_another_process("1") == text_of_another_process("2")


def test_a_smaller_number_is_a_prefix_and_a_seed_makes_a_difference(text):
    assert world.sentences(500) == text[:500]
    assert len({*world.sentences(500, seed=1)} & {*text}) < 25


TWICE = r"\b(\w+) \1\b"
A_FOR_AN, AN_FOR_A = r"\ba (?!uni|use|eur|one)[aeiou]", r"\ban (?!hour|honest|heir)[^aeiou]"


def test_sentences_are_well_formed(text):
    for sentence in text:
        assert 5 <= len(sentence.split()) <= 25
        assert re.fullmatch(r"[A-Z][A-Za-z,' ]*\.", sentence), sentence
        assert "  " not in sentence and " ," not in sentence, sentence
        for wrong in (TWICE, A_FOR_AN, AN_FOR_A):
            assert not re.search(wrong, sentence.lower()), sentence


def test_sentences_vary(text):
    assert len(set(text)) == len(text)
    assert len({word for sentence in text for word in sentence.lower().split()}) > 1800
    starts = {" ".join(sentence.split()[:2]) for sentence in text}
    assert len(starts) > 700


@pytest.mark.parametrize(
    "subject, expected",
    [
        (Thing("teacher"), "teaches"),
        (Thing("teacher", count=("two",)), "teach"),
        (Thing("I"), "teach"),
    ],
)
def test_subject_and_verb_agree(subject, expected):
    event = draw_event(Random(0), "habit", "school") | {"tense": "present", "denied": False}
    assert Telling(Random(0), event).group(event, subject, "teach") == expected


def test_tellings_of_one_event_share_no_content_word_when_synonyms_allow():
    event = draw_event(Random(0), "report", "hospital") | dict(
        frame=BOOK.scenes["hospital"]["frames"][1], verb=("examine", "check"),
        subject=Thing("doctor"), object=Thing("patient"), complement=None,
        manner=None, time=None, place=None, second=None, speaker=None, denied=False,
    )  # fmt: skip
    first = Telling(Random(1), event)
    second = Telling(Random(2), event, frozenset(first.used), 1.0)
    assert not first.used & second.used
    assert {"doctor", "physician"} <= first.used | second.used


def test_grades(tasks):
    for task, pairs in tasks.items():
        assert list(pairs.columns) == ["subset", "score", "sentence1", "sentence2"]
        assert {*pairs.score} <= {grade / 2 for grade in range(11)}, task
        assert {*pairs.score.round()} == {0, 1, 2, 3, 4, 5}, task
        assert pairs.subset.isin(["swap", "negation", "opposite"]).mean() <= 0.2, task
        assert (pairs.sentence1 != pairs.sentence2).all()
        assert not pairs.duplicated(["sentence1", "sentence2"]).any()
        assert (pairs[pairs.subset == "paraphrase"].score == 5).all()
        assert (pairs[pairs.subset == "unrelated"].score == 0).all()


def test_parts_are_disjoint(text, tasks):
    dev = world.sts_pairs(world.DEV_TASK, 300, seed=3, split="dev")
    dev, test = ({*pairs.sentence1} | {*pairs.sentence2} for pairs in (dev, tasks[world.DEV_TASK]))
    tests = {text for pairs in tasks.values() for text in [*pairs.sentence1, *pairs.sentence2]}
    assert not dev & test and not dev & {*text} and not tests & {*text}


def test_counting_words_is_as_useful_as_on_real_pairs(tasks):
    """TF-IDF has 66.6 on the seven real tasks."""
    scores = []
    for pairs in tasks.values():
        words = TfidfVectorizer().fit([*pairs.sentence1, *pairs.sentence2])
        one, two = (words.transform(column) for column in (pairs.sentence1, pairs.sentence2))
        overlap = np.asarray(one.multiply(two).sum(axis=1)).ravel()
        scores.append(100 * spearmanr(pairs.score, overlap).statistic)
    assert 60 <= sum(scores) / len(scores) <= 70, scores


@pytest.mark.parametrize("task, labels", [("topic", 6), ("polarity", 2), ("paraphrase", 2)])
def test_classification(task, labels):
    table = world.classification(task, 300)
    assert table.split.value_counts().to_dict() == {"train": 180, "dev": 60, "test": 60}
    assert table.label.nunique() == labels
    assert table.label.value_counts(normalize=True).min() > 0.5 / labels
    assert not table.drop(columns=["split", "label"]).duplicated().any()
    columns = ["sentence1", "sentence2"] if task == "paraphrase" else ["sentence"]
    assert list(table.columns)[2:] == columns


def test_nothing_asked_is_nothing_given():
    assert world.sentences(0) == []
    assert len(world.sts_pairs("captions", 0)) == len(world.classification("topic", 0)) == 0


WRONG = [
    (lambda: world.sentences(-1), "n is -1, but a number of sentences or pairs is 0 or more"),
    (lambda: world.sts_pairs("STS12", 5), "unknown task 'STS12': use one of captions, "),
    (lambda: world.sts_pairs("captions", 5, split="dev"),
     "unknown split of captions 'dev': use one of test"),
    (lambda: world.sts_pairs("almanac", 5, split="train"),
     "unknown split of almanac 'train': use one of test, dev"),
    (lambda: world.classification("almanac", 5),
     "unknown task 'almanac': use one of topic, polarity, paraphrase"),
]  # fmt: skip


@pytest.mark.parametrize("call, message", WRONG)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match="^" + message):
        call()
