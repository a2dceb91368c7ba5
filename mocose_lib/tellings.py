"""Tellings: ways to put an event into words, and remarks, which tell of no event.

A telling takes a form (active, passive, fronted ...) and one of the synonyms for every word.
"""

import re
from random import Random

from .events import Event, Thing
from .lexicon import Synset, inflect, kinds, lexicon, polish, scales, synsets

ASIDES = 0.4  # how often a telling begins with words that add nothing, where its genre has them


def _forms(event: Event) -> list[str]:
    """The forms of its genre that can tell the event."""
    style, second = lexicon().genres[event["genre"]], event["second"]
    active_only = "!" in event["frame"].verbs[0][0] + event["verb"][0]

    def fits(form: str) -> bool:
        if "{W}" in form and (active_only or not event["object"]):
            return False
        if second and ("{s}" in form) != (second["subject"] is not None):
            return False
        return not (event["denied"] and re.search("{I}|it was", form))

    forms = [lexicon().forms[name] for name in style["pair" if second else "event"].split()]
    return [form for form in forms if fits(form)]


class Telling:
    """One way to put an event into words; `fresh`: how often words heard before give way to others.

    At fresh = 0 half of them are repeated wherever they fit, so that counting words finds
    likeness where there is none.
    """

    def __init__(
        self, rng: Random, event: Event, heard: frozenset[str] = frozenset(), fresh: float = 0.0
    ):
        self.rng, self.heard, self.fresh, self.used = rng, heard, fresh, set()
        self.articles = lexicon().genres[event["genre"]]["articles"].split() or [""]
        self.double = rng.random() < 0.5
        form = rng.choice(_forms(event))
        self.double &= "{W}" not in form
        second = event["second"]
        second = second and second | {"subject": second["subject"] or event["subject"]}

        def fill(slot: re.Match) -> str:
            return self.slot(slot[1].upper(), second if slot[1].islower() else event)

        text = re.sub(r"{(\w)}", fill, form)
        if event["speaker"]:
            frame, clause = self.say(lexicon().reported), text.strip(" ,")
            speaker = self.say(lexicon().nouns[event["speaker"]].words)
            text = frame.format(clause=clause, speaker=speaker)
        if "asides" in lexicon().genres[event["genre"]] and rng.random() < ASIDES:
            text = f"{rng.choice(lexicon().asides)[0]}, {text}"
        self.text = polish(text)

    def __str__(self) -> str:
        return self.text

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
        """The verb group: "did not break", "was not broken"."""
        book, many = lexicon(), who.count or who.noun not in lexicon().nouns
        number = "I" if who.noun == "I" else "many" if many else "one"
        words = book.tenses[event["tense"]][2 * passive + event["denied"]].split()
        words = [book.agreement[number].get(word, word) for word in words]
        forms = ("base", "s", "past", "part", "ing")
        return " ".join(inflect(verb, word) if word in forms else word for word in words)

    def slot(self, name: str, event: Event) -> str:
        subject, object_, whom = event["subject"], event["object"], event["complement"]
        preposition, verb = event["frame"].preposition, event["verb"]
        double = self.double and whom and preposition[0] == ">"
        match name:
            case "S":
                return self.thing(subject)
            case "V":
                return self.group(event, subject, self.say(verb))
            case "W":
                return self.group(event, object_, self.say(verb, passive=True), passive=True)
            case "B" | "G":
                return inflect(self.say(verb), {"B": "base", "G": "ing"}[name])
            case "O":
                things = (whom if double else None, object_)
                return " ".join(self.thing(thing) for thing in things if thing)
            case "C":
                after = whom and not double
                return f"{preposition.strip('>?')} {self.thing(whom)}" if after else ""
            case "K":
                return "who" if "person" in kinds(subject.noun) else "that"
            case "I":
                return "are" if subject.count else "is"
        return self.say(event[{"M": "manner", "P": "place", "T": "time"}[name]])


def remark(rng: Random, kind: str) -> str:
    """A description or comparison ("remark"), or an opinion ("positive", "negative")."""
    book = lexicon()
    signs = ("bad", "good") if kind == "negative" else ("good", "bad")
    if kind == "remark":
        where = rng.choice(list(book.scenes))
        objects = rng.choice(book.scenes[where]["frames"]).object
        pair = rng.sample(objects if len(objects) > 1 else book.children["fruit"], 2)
        one, two = (book.nouns[name].words for name in pair)
        sides = rng.sample(rng.choice(scales(one[0])), 2)
        speakers = book.speakers.split()
    else:
        where = rng.choice(list(book.opinions))
        what, *sides = synsets(book.opinions[where], "|")
        one, two = ([name] for name in rng.sample(what, 2))
        (speakers,) = synsets(book.feelings["speakers"])
    places = book.scenes[where]["places"]
    words = {"one": one, "two": two, "place": rng.choice(places), "speaker": speakers}
    for sign, name, side in zip(signs, ("good", "bad"), sides, strict=True):
        words |= {sign: side, sign + "er": [inflect(word, "comparative") for word in side]}
        words |= {sign + key: synsets(book.feelings[name + key])[0] for key in "ve"}
    template = rng.choice(book.remarks["remark" if kind == "remark" else "opinion"])
    return polish(template.format(**{key: rng.choice(words[key]) for key in words}))
