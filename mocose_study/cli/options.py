"""Options that commands share, and what an interrupt means for each."""

from dataclasses import dataclass

FROM_CHECKPOINT = "the same command goes on from the last checkpoint, if there is one"


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
