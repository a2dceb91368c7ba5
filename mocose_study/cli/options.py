"""Options that commands share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Data:
    """Options of every command that reads data."""

    data: str | None = None  # Folder with the real data; MOCOSE_DATA does the same.


@dataclass(frozen=True)
class Sized(Data):
    """Options of every command that works at a size."""

    profile: str = "quick"  # One of those that `mocose list profiles` names.
