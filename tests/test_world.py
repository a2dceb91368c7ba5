"""Generated English: is the lexicon sound, is the text English and reproducible, are the grades what they claim to be?"""

import hashlib
import os
import re
import subprocess
import sys

import pytest
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer

from mocose_lib import world

BOOK = world.lexicon()
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
        assert world.kinds(noun)[-1] == "thing"
        assert world.scales(noun)


def test_every_link_of_the_lexicon_resolves():
    raw = [word for entries in BOOK.children.values() for noun in entries for word in BOOK.nouns[noun].words]
    assert len(raw) == len(set(raw)), "a word stands for two nouns"
    assert all(kind in BOOK.nouns for kind in [*BOOK.children, *BOOK.traits] if kind != "thing")
    assert all(len(scale) == 2 for scale in [*BOOK.scales.values(), *BOOK.manners.values()]), "a quality has no opposite"
    assert all(name in BOOK.scales for traits in BOOK.traits.values() for name in traits.split())
    for genre in BOOK.genres.values():
        assert all(form in BOOK.forms for form in f"{genre['event']} {genre['pair']}".split())
        assert all(tense in BOOK.tenses for tense in genre["tenses"].split())
    for mix in [*BOOK.tasks.values(), BOOK.stream]:
        assert {*mix["genres"]} <= {*BOOK.genres} and {*mix.get("phenomena", ())} <= {*BOOK.phenomena}


def test_every_verb_has_its_forms():
    for verb in VERBS:
        forms = [world.inflect(verb, form).split()[0] for form in ("s", "past", "part", "ing")]
        assert forms[0].endswith("s") and forms[3].endswith("ing"), verb
    head = {verb.split()[0] for verb in VERBS}
    doubled = [v for v in head if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", v) and v not in BOOK.exceptions["ing"]]
    assert not doubled, "short verbs whose last letter doubles"


@pytest.mark.parametrize("phrase, form, expected", [
    ("carry", "s", "carries"), ("go", "s", "goes"), ("buy", "past", "bought"), ("cut up", "ing", "cutting up"),
    ("steal", "part", "stolen"), ("die", "ing", "dying"), ("woman", "plural", "women"), ("family member", "plural",
    "family members"), ("city", "plural", "cities"), ("knife", "plural", "knives"), ("happy", "comparative", "happier"),
    ("famous", "comparative", "more famous"), ("tidy", "past", "tidied"), ("put on", "past", "put on")])
def test_inflection(phrase, form, expected):
    assert world.inflect(phrase, form) == expected


def test_sentences_are_the_same_in_every_process():
    code = ("import hashlib; from mocose_lib import world as w; t = w.sts_pairs('puzzles', 40).to_csv() + ' '.join(w.sentences(200))"
            " + w.classification('topic', 40).to_csv(); print(hashlib.sha256(t.encode()).hexdigest())")
    runs = {subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True,
                           text=True, check=True).stdout for seed in ("1", "2")}
    pairs, labelled = world.sts_pairs("puzzles", 40), world.classification("topic", 40)
    here = pairs.to_csv() + " ".join(world.sentences(200)) + labelled.to_csv()
    assert runs == {hashlib.sha256(here.encode()).hexdigest() + "\n"}


def test_a_smaller_number_is_a_prefix_and_a_seed_makes_a_difference(text):
    assert world.sentences(500) == text[:500]
    assert len({*world.sentences(500, seed=1)} & {*text}) < 25


def test_sentences_are_well_formed(text):
    for sentence in text:
        assert 5 <= len(sentence.split()) <= 25
        assert re.fullmatch(r"[A-Z][A-Za-z,' ]*\.", sentence), sentence
        assert "  " not in sentence and " ," not in sentence and not re.search(r"\b(\w+) \1\b", sentence.lower()), sentence
        assert not re.search(r"\ba (?!uni|use|eur|one)[aeiou]|\ban (?!hour|honest|heir)[^aeiou]", sentence.lower()), sentence


def test_sentences_vary(text):
    assert len(set(text)) == len(text)
    assert len({word for sentence in text for word in sentence.lower().split()}) > 1800
    starts = {" ".join(sentence.split()[:2]) for sentence in text}
    assert len(starts) > 700


def test_subject_and_verb_agree():
    event = world._event(world.Random(0), "habit", "school")
    for thing, expected in ((world.Thing("teacher", None, None), "teaches"), (world.Thing("teacher", None, ("two",)), "teach"),
                            (world.Thing("I", None, None), "teach")):
        telling = world._Telling(world.Random(0), event)
        assert telling.group(event | {"tense": "present", "denied": False}, thing, "teach") == expected


def test_tellings_of_one_event_share_no_content_word_when_synonyms_allow():
    teacher, pupil = (world.Thing(noun, None, None) for noun in ("doctor", "patient"))
    event = world._event(world.Random(0), "report", "hospital") | dict(
        frame=BOOK.scenes["hospital"]["frames"][1], verb=("examine", "check"), subject=teacher, object=pupil, complement=None,
        manner=None, time=None, place=None, second=None, speaker=None, denied=False)
    first = world._Telling(world.Random(1), event)
    second = world._Telling(world.Random(2), event, frozenset(first.used), 1.0)
    assert not first.used & second.used and {"doctor", "physician"} <= first.used | second.used


def test_grades(tasks):
    for task, pairs in tasks.items():
        assert list(pairs.columns) == ["subset", "score", "sentence1", "sentence2"]
        assert {*pairs.score} <= {grade / 2 for grade in range(11)}, task
        assert {*pairs.score.round()} == {0, 1, 2, 3, 4, 5}, task
        assert pairs.subset.isin(["swap", "negation", "opposite"]).mean() <= 0.2, task
        assert (pairs.sentence1 != pairs.sentence2).all() and not pairs.duplicated(["sentence1", "sentence2"]).any()
        assert (pairs[pairs.subset == "paraphrase"].score == 5).all() and (pairs[pairs.subset == "unrelated"].score == 0).all()


def test_parts_are_disjoint(text, tasks):
    dev = world.sts_pairs(world.DEV_TASK, 300, seed=3, split="dev")
    dev, test = ({*pairs.sentence1} | {*pairs.sentence2} for pairs in (dev, tasks[world.DEV_TASK]))
    tests = {sentence for pairs in tasks.values() for sentence in [*pairs.sentence1, *pairs.sentence2]}
    assert not dev & test and not dev & {*text} and not tests & {*text}


def test_counting_words_is_useful_but_does_not_win(tasks):
    scores = []
    for pairs in tasks.values():
        words = TfidfVectorizer().fit([*pairs.sentence1, *pairs.sentence2])
        overlap = words.transform(pairs.sentence1).multiply(words.transform(pairs.sentence2)).sum(axis=1)
        scores.append(100 * spearmanr(pairs.score, overlap.A1 if hasattr(overlap, "A1") else overlap).statistic)
    assert 45 <= sum(scores) / len(scores) <= 65, scores


@pytest.mark.parametrize("task, labels", [("topic", 6), ("polarity", 2), ("paraphrase", 2)])
def test_classification(task, labels):
    table = world.classification(task, 300)
    assert table.split.value_counts().to_dict() == {"train": 180, "dev": 60, "test": 60}
    assert table.label.nunique() == labels and table.label.value_counts(normalize=True).min() > 0.5 / labels
    assert not table.drop(columns=["split", "label"]).duplicated().any()
    assert list(table.columns)[2:] == (["sentence1", "sentence2"] if task == "paraphrase" else ["sentence"])


def test_nothing_asked_is_nothing_given():
    assert world.sentences(0) == []
    assert len(world.sts_pairs("captions", 0)) == len(world.classification("topic", 0)) == 0


@pytest.mark.parametrize("call, message", [
    (lambda: world.sentences(-1), "n is -1, but a number of sentences or pairs is 0 or more"),
    (lambda: world.sts_pairs("STS12", 5), "unknown task 'STS12': use one of captions, "),
    (lambda: world.sts_pairs("captions", 5, split="dev"), "unknown split of captions 'dev': use one of test"),
    (lambda: world.sts_pairs("almanac", 5, split="train"), "unknown split of almanac 'train': use one of test, dev"),
    (lambda: world.classification("almanac", 5), "unknown task 'almanac': use one of topic, polarity, paraphrase")])
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match="^" + message):
        call()
