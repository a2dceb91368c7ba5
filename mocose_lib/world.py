"""Generated English: sentences, graded pairs and small labelled sets, all told from meanings drawn from `lexicon.toml`.

An *event* (who does what to whom, where, when, how) is a meaning. A *telling* puts it into words: a form (active, passive,
fronted ...) and one of the synonyms for every word. Two tellings of one event are a paraphrase; an event edited by a rule of
the lexicon makes a pair whose grade on SemEval's scale, 0 to 5, is known by construction.
"""

import re
import tomllib
import zlib
from functools import cache
from importlib import resources
from random import Random
from types import SimpleNamespace
from typing import Callable, NamedTuple

import pandas as pd

STS_TASKS = ("captions", "bulletins", "glossary", "counsel", "chronicle", "almanac", "puzzles")
DEV_TASK = "almanac"
TRANSFER_TASKS = ("topic", "polarity", "paraphrase")

Synset = tuple[str, ...]  # one meaning, and the words for it
Event = dict  # genre, scene, frame, tense; verb, time, place, manner: Synset; subject, object, complement: Thing
Noun = NamedTuple("Noun", [("words", Synset), ("parent", str), ("mass", bool)])
Thing = NamedTuple("Thing", [("noun", str), ("quality", Synset | None), ("count", Synset | None)])  # count None: one
Frame = NamedTuple("Frame", [("subject", Synset), ("verbs", list[Synset]), ("object", Synset), ("preposition", str),
                             ("complement", Synset), ("manners", list[Synset])])


# --- words ---
def _synsets(text: str, between: str = ";") -> list[Synset]:
    return [tuple(re.split(r"\s*/\s*", part.strip().replace("_", " "))) for part in text.split(between) if part.strip()]


@cache
def lexicon() -> SimpleNamespace:
    """The parsed tables of `lexicon.toml`, where their notation is explained; nouns are found by any of their words."""
    book = SimpleNamespace(**tomllib.loads(resources.files(__package__).joinpath("lexicon.toml").read_text("utf-8")))
    listed = [(parent, entry) for parent, entries in book.nouns.items() for entry in entries.split()]
    nouns = [Noun(_synsets(entry.lstrip("~"))[0], parent, entry[0] == "~") for parent, entry in listed]
    book.children = {parent: [noun.words[0] for noun in nouns if noun.parent == parent] for parent in book.nouns}
    book.nouns = {word: noun for noun in nouns for word in noun.words}
    book.counts, usual = _synsets(book.counts), _synsets(book.usual_times)
    book.times = {tense: row[4] and _synsets(row[4]) + usual for tense, row in book.tenses.items()}
    for form, exceptions in book.exceptions.items():
        book.exceptions[form] = dict(pair.split(None, 1) for pair in exceptions.split(";"))
    for table in (book.manners, book.scales):
        table |= {name: _synsets(text, "#") for name, text in table.items()}
    for scene in book.scenes.values():
        for name, text in (("social", book.social), ("frames", scene["frames"])):
            scene[name] = [_frame(line, book) for line in text.replace("people", scene["people"]).strip().splitlines()]
        scene["places"] = _synsets(scene["places"])
    return book


def _frame(line: str, book: SimpleNamespace) -> Frame:
    def names(text: str) -> Synset:
        entries = [book.children[entry[1:]] if entry[0] == "@" else [entry.replace("_", " ")] for entry in text.split()]
        return tuple(dict.fromkeys(book.nouns[word].words[0] for words in entries for word in words))

    who, does, what, how, manners = (part.strip() for part in (line + "||||").split("|")[:5])
    preposition, _, whom = how.partition(" ")
    manners = [way for name in (manners or book.usual_manners).split() if name != "-" for way in book.manners[name]]
    return Frame(names(who), _synsets(does, "#"), names(what), preposition, names(whom), manners)


def kinds(noun: str) -> list[str]:
    """The noun and its hypernyms, nearest first."""
    return [noun, *kinds(lexicon().nouns[noun].parent)] if noun in lexicon().nouns else [noun]


@cache
def scales(noun: str) -> list[list[Synset]]:
    """The qualities that fit a noun, each with its opposite."""
    traits = next(lexicon().traits[kind] for kind in kinds(noun) if kind in lexicon().traits)
    return [lexicon().scales[name] for name in traits.split()]


@cache
def inflect(phrase: str, form: str) -> str:
    """The plural of a noun, the s, past, part or ing form of a verb, the comparative of an adjective.

    Only one word of a phrase changes: the last of a noun's ("family members"), the first of a verb's ("puts on").
    """
    before, word, after = (*phrase.rpartition(" ")[::2], "") if form == "plural" else ("", *phrase.partition(" ")[::2])
    pattern, ending = next(rule for rule in lexicon().rules.get(form, [["$", ""]]) if re.search(rule[0], word))
    word = lexicon().exceptions.get(form, {}).get(word) or re.sub(pattern, ending, word, count=1)
    return f"{before} {word} {after}".strip()


def _polish(text: str) -> str:
    odd = lexicon().an_exceptions.split()
    text = re.sub(r"\s+", " ", text).strip(" ,").replace(" ,", ",")
    text = re.sub(r"\ba (\w+)", lambda m: f"a{'n' * ((m[1][0] in 'aeiou') != (m[1] in odd))} {m[1]}", text)
    return text[0].upper() + text[1:] + "."


# --- meanings ---
def _weighted(rng: Random, weights: dict[str, float]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def _thing(rng: Random, names: Synset, single: bool = False) -> Thing | None:
    if not names:
        return None
    noun = rng.choice(names)
    quality = rng.choice(rng.choice(scales(noun))) if rng.random() < 0.25 else None
    single = single or lexicon().nouns[noun].mass or rng.random() < 0.85
    return Thing(noun, quality, None if single else rng.choice(lexicon().counts))


def _event(rng: Random, genre: str, scene: str, pair: bool = False) -> Event:
    book, style, here = lexicon(), lexicon().genres[genre], lexicon().scenes[scene]
    maybe = lambda chance, options: rng.choice(options) if options and rng.random() < chance else None
    voices = style.get("subject", "").split()  # I, you, we: such genres tell only of what people do
    frames = here["frames" if rng.random() < 0.9 else "social"]
    frame = rng.choice([frame for frame in frames if not voices or "person" in kinds(frame.subject[0])])
    subject, tense = _thing(rng, frame.subject), rng.choice(style["tenses"].split())
    event = dict(
        genre=genre, scene=scene, frame=frame, verb=frame.verbs[0], tense=tense, denied=False, second=None,
        subject=Thing(rng.choice(voices), None, None) if voices else subject,
        object=_thing(rng, [name for name in frame.object if name != subject.noun]),
        complement=_thing(rng, frame.complement, True) if frame.preposition[-1:] != "?" or rng.random() < 0.4 else None,
        manner=maybe(0.25, frame.manners), time=maybe(0.4, book.times[tense]),
        speaker=maybe(0.12, book.speakers.split() if "reported" in style else ()))
    where = event["complement"] or event["object"]
    event["place"] = None if where and {"place", "building"} & {*kinds(where.noun)} else maybe(0.6, here["places"])
    if pair and style["pair"] and (second := _another(rng, event, scene)):
        same = voices or subject.noun in second["frame"].subject
        event["second"] = second | {"subject": None if same else second["subject"]}
    return event


def _another(rng: Random, event: Event, scene: str) -> Event | None:
    """Something else, done by and to others, but at the same time and in a sentence of the same build."""
    new = _event(rng, event["genre"], scene, bool(event["second"])) | {key: event[key] for key in ("tense", "time", "speaker")}
    new |= {key: None for key in ("place", "manner") if not event[key]}
    nouns = [{it[role].noun for role in ("subject", "object") if it[role]} & {*lexicon().nouns} for it in (event, new)]
    return None if nouns[0] & nouns[1] or new["verb"] == event["verb"] else new


def _edit(rng: Random, event: Event, edit: str) -> Event | None:
    """The event after one edit of a rule, or None where the edit finds nothing to work on."""
    book, (what, _, part), frame = lexicon(), edit.partition(" "), event["frame"]
    old, here = event.get(part), book.scenes[event["scene"]]
    noun = book.nouns.get(old.noun) if isinstance(old, Thing) else None
    if isinstance(old, Thing) and not noun or part == "complement" and frame.preposition[-1:] != "?":
        return None
    match what:
        case "drop" if old:
            return event | {part: None}
        case "plain" if old and old.quality:
            return event | {part: old._replace(quality=None)}
        case "general" if noun and noun.parent != "thing":
            return event | {part: Thing(noun.parent, None, old.count)}
        case "other" if noun:
            told = [event[role].noun for role in ("subject", "object", "complement") if event[role]]
            names = [name for name in getattr(frame, part) if name not in told]
            return event | {part: Thing(rng.choice(names), None, None)} if names else None
        case "other" if old:
            choices = {"place": here["places"], "time": book.times[event["tense"]], "manner": frame.manners}[part]
            return event | {part: rng.choice([choice for choice in choices if choice != old])}
        case "act":
            new = _another(rng, event | {"subject": None}, event["scene"])
            same = new and (event["subject"].noun in new["frame"].subject or event["subject"].noun not in book.nouns)
            return new | {key: event[key] for key in ("subject", "place")} if same else None
        case "scene":
            return _another(rng, event, event["scene"])
        case "topic":
            far = [name for name, scene in book.scenes.items() if scene["topic"] != here["topic"]]
            return _another(rng, event, rng.choice(far))
        case "swap" if event["object"] and {event["object"].noun, event["subject"].noun} <= {*frame.subject} & {*frame.object}:
            return event | {"subject": event["object"], "object": event["subject"]}
        case "deny" if not event["second"]:
            return event | {"denied": True}
        case "opposite" if len(frame.verbs) > 1:
            return event | {"verb": frame.verbs[1]}
    return None


# --- tellings ---
class _Telling:
    """One way to put an event into words; `fresh` is how often words heard before give way to others.

    At fresh = 0 half of them are repeated wherever they fit, so that counting words finds likeness where there is none.
    """

    def __init__(self, rng: Random, event: Event, heard: frozenset[str] = frozenset(), fresh: float = 0.0):
        self.rng, self.heard, self.fresh, self.used = rng, heard, fresh, set()
        book, style, second = lexicon(), lexicon().genres[event["genre"]], event["second"]
        self.articles, self.double = style["articles"].split() or [""], rng.random() < 0.5
        passive = event["object"] and not (event["frame"].verbs[0][0] + event["verb"][0]).count("!")
        apart = second and second["subject"] is not None
        second = second and second | {"subject": second["subject"] or event["subject"]}
        fits = lambda form: ((passive or "{W}" not in form) and apart in (None, "{s}" in form)
                             and not (event["denied"] and re.search("{I}|it was", form)))
        forms = [book.forms[name] for name in style["pair" if second else "event"].split()]
        form = rng.choice([form for form in forms if fits(form)])
        self.double &= "{W}" not in form
        text = re.sub(r"{(\w)}", lambda m: self.slot(m[1].upper(), second if m[1].islower() else event), form)
        if event["speaker"]:
            text = self.say(book.reported).format(clause=text.strip(" ,"), speaker=self.say(book.nouns[event["speaker"]].words))
        self.text = _polish(text)

    def say(self, synset: Synset | None, passive: bool = False) -> str:
        if not synset:
            return ""
        words = [word for word in synset if word[0] != "!"] if passive else synset
        if self.heard and self.rng.random() < (self.fresh or 0.5):
            words = [word for word in words if (word in self.heard) != (self.fresh > 0)] or words
        self.used.add(word := words[int(self.rng.random() * len(words))])
        return word.removeprefix("!")

    def thing(self, thing: Thing) -> str:
        if not (noun := lexicon().nouns.get(thing.noun)):
            return thing.noun
        word, article = self.say(noun.words), self.rng.choice(self.articles)
        if article == "a" and (noun.mass or thing.count):
            article = "some" if noun.mass else ""
        word = inflect(word, "plural") if thing.count else word
        return f"{self.say(thing.count) or article} {self.say(thing.quality)} {word}"

    def group(self, event: Event, who: Thing, verb: str, passive: bool = False) -> str:
        number = "I" if who.noun == "I" else "many" if who.count or who.noun not in lexicon().nouns else "one"
        words = lexicon().tenses[event["tense"]][2 * passive + event["denied"]].split()
        words = [lexicon().agreement[number].get(word, word) for word in words]
        return " ".join(inflect(verb, word) if word in ("base", "s", "past", "part", "ing") else word for word in words)

    def slot(self, name: str, event: Event) -> str:
        preposition, whom = event["frame"].preposition, event["complement"]
        double = self.double and whom and preposition[0] == ">"
        match name:
            case "S": return self.thing(event["subject"])
            case "V": return self.group(event, event["subject"], self.say(event["verb"]))
            case "W": return self.group(event, event["object"], self.say(event["verb"], passive=True), passive=True)
            case "B" | "G": return inflect(self.say(event["verb"]), {"B": "base", "G": "ing"}[name])
            case "O": return " ".join(self.thing(thing) for thing in (whom if double else None, event["object"]) if thing)
            case "C": return f"{preposition.strip('>?')} {self.thing(whom)}" if whom and not double else ""
            case "K": return "who" if "person" in kinds(event["subject"].noun) else "that"
            case "I": return "are" if event["subject"].count else "is"
        return self.say(event[{"M": "manner", "P": "place", "T": "time"}[name]])


def _remark(rng: Random, kind: str) -> str:
    """A description or comparison ("remark"), or an opinion ("positive", "negative")."""
    book, factual = lexicon(), kind == "remark"
    where = rng.choice(list(book.scenes if factual else book.opinions))
    if factual:
        frame = rng.choice(book.scenes[where]["frames"])
        names = frame.object if len(frame.object) > 1 else book.children["fruit"]
        one, two = (book.nouns[name].words for name in rng.sample(names, 2))
        (good, bad), signs, speakers = rng.sample(rng.choice(scales(one[0])), 2), ("good", "bad"), book.speakers.split()
    else:
        what, good, bad = _synsets(book.opinions[where], "|")
        (one, two), signs = ([name] for name in rng.sample(what, 2)), ("good", "bad")[:: 1 if kind == "positive" else -1]
        speakers = _synsets(book.feelings["speakers"])[0]
    words = {"one": one, "two": two, "place": rng.choice(book.scenes[where]["places"]), "speaker": speakers}
    for sign, name, side in zip(signs, ("good", "bad"), (good, bad)):
        words |= {sign: side, sign + "er": [inflect(word, "comparative") for word in side]}
        words |= {sign + key: _synsets(book.feelings[name + key])[0] for key in "ve"}
    template = rng.choice(book.remarks["remark" if factual else "opinion"])
    return _polish(template.format(**{key: rng.choice(options) for key, options in words.items()}))


# --- what comes out ---
def _owned(owner: str, tell: Callable[[], _Telling | SimpleNamespace]) -> _Telling | SimpleNamespace | None:
    # A sentence belongs to one part for ever, whatever the seed, so that no training text holds a test sentence.
    owners = ("dev", "test", "train", "train", "train")
    fits = lambda text: 5 <= len(text.split()) <= 25 and owners[zlib.crc32(text.lower().encode()) % 5] == owner
    return next((telling for telling in (tell() for _ in range(20)) if fits(telling.text)), None)


def _sentence(rng: Random, owner: str, kind: str, scenes: list[str]) -> tuple | None:
    if kind in ("event", "pair"):
        event = _event(rng, _weighted(rng, lexicon().stream["genres"]), rng.choice(scenes), kind == "pair")
    told = _owned(owner, lambda: _Telling(rng, event) if kind in ("event", "pair") else SimpleNamespace(text=_remark(rng, kind)))
    return told and (told.text,)


def _pair(rng: Random, owner: str, mix: dict, phenomena: dict[str, float]) -> tuple | None:
    name, altered = _weighted(rng, phenomena), None
    phenomenon, scenes = lexicon().phenomena[name], list(lexicon().scenes)
    while altered is None:
        score, edits = rng.choice(phenomenon["rules"]).split(":")
        event = altered = _event(rng, _weighted(rng, mix["genres"]), rng.choice(scenes), rng.random() < mix["pairs"])
        for edit in filter(None, map(str.strip, edits.split(","))):
            altered = altered and _edit(rng, altered, edit)
    one = _owned(owner, lambda: _Telling(rng, event))
    two = one and _owned(owner, lambda: _Telling(rng, altered, frozenset(one.used), phenomenon["fresh"]))
    return (*rng.sample([one.text, two.text], 2), name, float(score)) if two and one.text != two.text else None


def _labelled(rng: Random, task: str) -> tuple | None:
    labels, scenes = lexicon().transfer[task], lexicon().scenes
    label = rng.choice(list(labels))
    if task == "paraphrase":
        row = _pair(rng, "test", lexicon().tasks[DEV_TASK], dict.fromkeys(labels[label].split(), 1))
        return row and (*row[:2], label)
    row = _sentence(rng, "test", labels[label], [name for name in scenes if scenes[name]["topic"] == label])
    return row and (*row, label)


def _distinct(n: int, texts: int, draw: Callable[[], tuple | None]) -> list[tuple]:
    rows = {}
    while len(rows) < n:
        if row := draw():
            rows.setdefault(row[:texts], row)
    return list(rows.values())


def _check(n: int, what: str = "", name: str = "", known: tuple[str, ...] = ("",)) -> None:
    if name not in known:
        raise ValueError(f"unknown {what} {name!r}: use one of {', '.join(known)}")
    if n < 0:
        raise ValueError(f"n is {n}, but a number of sentences or pairs is 0 or more")


def sentences(n: int, seed: int = 0) -> list[str]:
    """n different unlabelled sentences of 5 to 25 words; a smaller n gives a prefix. ValueError if n is negative."""
    _check(n)
    rng, weights, scenes = Random(f"sentences {seed}"), lexicon().stream["kinds"], list(lexicon().scenes)
    return [text for text, in _distinct(n, 1, lambda: _sentence(rng, "train", _weighted(rng, weights), scenes))]


def sts_pairs(task: str, n: int, seed: int = 0, split: str = "test") -> pd.DataFrame:
    """n different pairs of a task: subset (the phenomenon), score (0 to 5, in halves), sentence1, sentence2.

    Only DEV_TASK has a "dev" split; no sentence of it is in any test split or among the unlabelled sentences.
    ValueError for an unknown task or split and for a negative n.
    """
    _check(n, "task", task, STS_TASKS)
    _check(n, f"split of {task}", split, ("test", "dev") if task == DEV_TASK else ("test",))
    rng, mix = Random(f"{task} {split} {seed}"), lexicon().tasks[task]
    rows = _distinct(n, 2, lambda: _pair(rng, split, mix, mix["phenomena"]))
    table = pd.DataFrame(rows, columns=["sentence1", "sentence2", "subset", "score"])
    return table[["subset", "score", "sentence1", "sentence2"]]


def classification(task: str, n: int, seed: int = 0) -> pd.DataFrame:
    """n different labelled examples: split (train, dev, test: 60, 20, 20 %), label, and sentence or sentence1, sentence2.

    ValueError for an unknown task and for a negative n.
    """
    _check(n, "task", task, TRANSFER_TASKS)
    rng, names = Random(f"{task} {seed}"), ["sentence1", "sentence2"] if task == "paraphrase" else ["sentence"]
    table = pd.DataFrame(_distinct(n, len(names), lambda: _labelled(rng, task)), columns=[*names, "label"])
    table["split"] = ["train" if i < n * 6 // 10 else "dev" if i < n * 8 // 10 else "test" for i in range(n)]
    return table[["split", "label", *names]]
