"""The words of generated English: `lexicon.toml`, read, and what grammar does to a word."""

import re
import tomllib
from functools import cache
from importlib import resources
from types import SimpleNamespace
from typing import NamedTuple

Synset = tuple[str, ...]  # one meaning, and the words for it


class Noun(NamedTuple):
    words: Synset
    parent: str  # its hypernym
    mass: bool


class Frame(NamedTuple):
    """What can be said with one verb: the nouns that fit, each named by its first word."""

    subject: Synset
    verbs: list[Synset]  # the verb and, where it has one, its opposite
    object: Synset
    preposition: str
    complement: Synset
    manners: list[Synset]


@cache
def lexicon() -> SimpleNamespace:
    """The tables of `lexicon.toml`, where their notation is explained, parsed.

    `nouns` has an entry for each word of a noun.
    """
    text = resources.files(__package__).joinpath("lexicon.toml").read_text("utf-8")
    book = SimpleNamespace(**tomllib.loads(text))
    _read_nouns(book)
    usual = synsets(book.usual_times)
    book.times = {tense: row[4] and synsets(row[4]) + usual for tense, row in book.tenses.items()}
    book.counts, book.asides = synsets(book.counts), synsets(book.asides)
    for form, exceptions in book.exceptions.items():
        book.exceptions[form] = dict(pair.split(None, 1) for pair in exceptions.split(";"))
    for table in (book.manners, book.scales):
        table.update({name: synsets(text, "#") for name, text in table.items()})
    for scene in book.scenes.values():
        scene["social"] = _frames(book.social, scene["people"], book)
        scene["frames"] = _frames(scene["frames"], scene["people"], book)
        scene["places"] = synsets(scene["places"])
    return book


def synsets(text: str, between: str = ";") -> list[Synset]:
    parts = [part.strip().replace("_", " ") for part in text.split(between)]
    return [tuple(re.split(r"\s*/\s*", part)) for part in parts if part]


def _read_nouns(book: SimpleNamespace) -> None:
    nouns = [
        Noun(synsets(entry.lstrip("~"))[0], parent, mass=entry[0] == "~")
        for parent, entries in book.nouns.items()
        for entry in entries.split()
    ]
    book.children = {kind: [n.words[0] for n in nouns if n.parent == kind] for kind in book.nouns}
    book.nouns = {word: noun for noun in nouns for word in noun.words}


def _frames(lines: str, people: str, book: SimpleNamespace) -> list[Frame]:
    return [_frame(line, book) for line in lines.replace("people", people).strip().splitlines()]


def _frame(line: str, book: SimpleNamespace) -> Frame:
    def names(text: str) -> Synset:
        words = []
        for entry in text.split():
            group = entry[0] == "@"
            words += book.children[entry[1:]] if group else [entry.replace("_", " ")]
        return tuple(dict.fromkeys(book.nouns[word].words[0] for word in words))

    who, does, what, how, manners = (part.strip() for part in (line + "||||").split("|")[:5])
    preposition, _, whom = how.partition(" ")
    ways = [name for name in (manners or book.usual_manners).split() if name != "-"]
    return Frame(
        subject=names(who), verbs=synsets(does, "#"), object=names(what),
        preposition=preposition, complement=names(whom),
        manners=[way for name in ways for way in book.manners[name]],
    )  # fmt: skip


def kinds(noun: str) -> list[str]:
    """The noun and its hypernyms, nearest first."""
    known = lexicon().nouns.get(noun)
    return [noun, *kinds(known.parent)] if known else [noun]


@cache
def scales(noun: str) -> list[list[Synset]]:
    """The qualities that fit a noun, each with its opposite."""
    book = lexicon()
    traits = next(book.traits[kind] for kind in kinds(noun) if kind in book.traits)
    return [book.scales[name] for name in traits.split()]


@cache
def inflect(phrase: str, form: str) -> str:
    """The plural of a noun, the s, past, part or ing form of a verb, an adjective's comparative.

    Only one word of a phrase changes: the last of a noun's ("family members"), the first of a
    verb's ("puts on").
    """
    if form == "plural":
        before, _, word = phrase.rpartition(" ")
        after = ""
    else:
        before = ""
        word, _, after = phrase.partition(" ")
    rules = lexicon().rules.get(form, [["$", ""]])
    pattern, ending = next(rule for rule in rules if re.search(rule[0], word))
    exception = lexicon().exceptions.get(form, {}).get(word)
    word = exception or re.sub(pattern, ending, word, count=1)
    return f"{before} {word} {after}".strip()


def polish(text: str) -> str:
    """The words as a sentence: spaces, a or an, a capital and a full stop."""
    odd = lexicon().an_exceptions.split()

    def article(match: re.Match) -> str:
        word = match[1]
        return f"{'an' if (word[0] in 'aeiou') != (word in odd) else 'a'} {word}"

    text = re.sub(r"\s+", " ", text).strip(" ,").replace(" ,", ",")
    text = re.sub(r"\b(\w+) \1\b", r"\1", text)  # "put in" + "in a pot"
    text = re.sub(r"\ba (\w+)", article, text)
    return text[0].upper() + text[1:] + "."
