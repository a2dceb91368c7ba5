"""Options that commands share, and what an interrupt means for each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command that starts over when it is interrupted."""

    INTERRUPTED = "nothing is kept, and the same command starts over"


@dataclass(frozen=True)
class Data(Command):
    """Options of every command that reads data."""

    data: str | None = None  # Folder with the real data; MOCOSE_DATA does the same.


@dataclass(frozen=True)
class Sized(Data):
    """Options of every command that works at a size."""

    profile: str = "quick"  # One of those that `mocose profiles` lists.


def near(name: str, known, what: str) -> str:
    """`name`, if it is known. Raises InputError with the nearest one."""
    from difflib import get_close_matches

    from mocose_study.config import InputError

    if name in known:
        return name
    close = get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"`mocose {what}s` lists them."
    raise InputError(f"there is no {what} {name!r}; {hint}")
