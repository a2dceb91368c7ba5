"""Events, the meanings of generated English: who does what to whom, where, when, how.

An event is drawn from the frames of `lexicon.toml`, or made from another by an edit.
"""

from random import Random
from typing import NamedTuple

from .lexicon import Synset, kinds, lexicon, scales

# genre, scene, frame, tense, denied, speaker; verb, time, place, manner: Synset;
# subject, object, complement: Thing; second: Event
Event = dict


class Thing(NamedTuple):
    noun: str
    quality: Synset | None = None
    count: Synset | None = None  # None: one


def _maybe(rng: Random, chance: float, options):
    return rng.choice(options) if options and rng.random() < chance else None


def _thing(rng: Random, names: Synset, single: bool = False) -> Thing | None:
    if not names:
        return None
    noun = rng.choice(names)
    quality = rng.choice(rng.choice(scales(noun))) if rng.random() < 0.25 else None
    single = single or lexicon().nouns[noun].mass or rng.random() < 0.85
    return Thing(noun, quality, None if single else rng.choice(lexicon().counts))


def draw_event(rng: Random, genre: str, scene: str, pair: bool = False) -> Event:
    book, style, here = lexicon(), lexicon().genres[genre], lexicon().scenes[scene]
    voices = style.get("subject", "").split()  # I, you, we: such genres tell of people only
    frames = here["frames" if rng.random() < 0.9 else "social"]
    frame = rng.choice([f for f in frames if not voices or "person" in kinds(f.subject[0])])
    subject, tense = _thing(rng, frame.subject), rng.choice(style["tenses"].split())
    event = dict(
        genre=genre, scene=scene, frame=frame, verb=frame.verbs[0], tense=tense, denied=False,
        second=None,
    )  # fmt: skip
    event["subject"] = Thing(rng.choice(voices)) if voices else subject
    event["object"] = _thing(rng, [name for name in frame.object if name != subject.noun])
    needed = frame.preposition[-1:] != "?" or rng.random() < 0.4
    event["complement"] = _thing(rng, frame.complement, single=True) if needed else None
    event["manner"] = _maybe(rng, 0.25, frame.manners)
    event["time"] = _maybe(rng, 0.4, book.times[tense])
    event["speaker"] = _maybe(rng, 0.12, book.speakers.split() if "reported" in style else ())
    where = event["complement"] or event["object"]
    placed = where and {"place", "building"} & {*kinds(where.noun)}
    event["place"] = None if placed else _maybe(rng, 0.6, here["places"])
    if pair and style["pair"] and (second := _another(rng, event, scene)):
        same = voices or subject.noun in second["frame"].subject
        event["second"] = second | {"subject": None if same else second["subject"]}
    return event


def _another(rng: Random, event: Event, scene: str) -> Event | None:
    """Something else, done by and to others, at the same time, in a sentence of the same build."""
    new = draw_event(rng, event["genre"], scene, bool(event["second"]))
    new |= {key: event[key] for key in ("tense", "time", "speaker")}
    new |= {key: None for key in ("place", "manner") if not event[key]}
    mine, others = (
        {it[role].noun for role in ("subject", "object") if it[role]} & {*lexicon().nouns}
        for it in (event, new)
    )
    return None if mine & others or new["verb"] == event["verb"] else new


def _other(rng: Random, event: Event, part: str) -> Thing | Synset | None:
    """What could stand in place of a part of the event."""
    book, frame = lexicon(), event["frame"]
    if isinstance(event[part], Thing):
        roles = ("subject", "object", "complement")
        told = [event[role].noun for role in roles if event[role]]
        names = [name for name in getattr(frame, part) if name not in told]
        return Thing(rng.choice(names)) if names else None
    places, times = book.scenes[event["scene"]]["places"], book.times[event["tense"]]
    choices = {"place": places, "time": times, "manner": frame.manners}[part]
    return rng.choice([choice for choice in choices if choice != event[part]])


def _other_act(rng: Random, event: Event) -> Event | None:
    """Something else done by the same subject in the same place."""
    new, subject = _another(rng, event | {"subject": None}, event["scene"]), event["subject"]
    fits = new and (subject.noun in new["frame"].subject or subject.noun not in lexicon().nouns)
    return new | {"subject": subject, "place": event["place"]} if fits else None


def edit_event(rng: Random, event: Event, edit: str) -> Event | None:
    """The event after one edit of a rule, or None where the edit finds nothing to work on."""
    book, (what, _, part) = lexicon(), edit.partition(" ")
    frame, old = event["frame"], event.get(part)
    if isinstance(old, Thing) and old.noun not in book.nouns:
        return None
    if part == "complement" and frame.preposition[-1:] != "?":
        return None
    match what:
        case "drop" if old:
            return event | {part: None}
        case "plain" if old and old.quality:
            return event | {part: old._replace(quality=None)}
        case "general" if old and (kind := book.nouns[old.noun].parent) != "thing":
            return event | {part: Thing(kind, None, old.count)}
        case "other" if old and (new := _other(rng, event, part)):
            return event | {part: new}
        case "act":
            return _other_act(rng, event)
        case "scene":
            return _another(rng, event, event["scene"])
        case "topic":
            topics = {name: scene["topic"] for name, scene in book.scenes.items()}
            far = [name for name in topics if topics[name] != topics[event["scene"]]]
            return _another(rng, event, rng.choice(far))
        case "swap" if event["object"]:
            pair, both = (event["subject"], event["object"]), {*frame.subject} & {*frame.object}
            fits = {thing.noun for thing in pair} <= both
            return event | {"subject": pair[1], "object": pair[0]} if fits else None
        case "deny" if not event["second"]:
            return event | {"denied": True}
        case "opposite" if len(frame.verbs) > 1:
            return event | {"verb": frame.verbs[1]}
    return None
