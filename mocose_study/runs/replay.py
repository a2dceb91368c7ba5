"""Whether a finished run's numbers come back: its Config, run once more on this machine."""

from dataclasses import dataclass
from pathlib import Path

import torch

from mocose_study.config import Config, InputError
from mocose_study.data import contents

from .files import finite, read_run
from .measure import PACKAGES, beginning, measured
from .run import checkpoint_of, prepare

DEPENDS = ("method_code", "python", "device", "instructions", *PACKAGES)  # what digits hang on
USUAL = 0.05  # points: between processors, numbers of short trainings differed by up to 0.016


@dataclass(frozen=True)
class Replay:
    """What came back: `differing` and `changed` hold (in the file, now) of metrics and the stamp."""

    numbers: int
    differing: dict[str, tuple]
    changed: dict[str, tuple]

    @property
    def largest(self) -> float:
        """The largest difference of a number, in points; infinite where one is missing."""
        pairs = self.differing.values()
        return max(
            (abs(a - b) if None not in (a, b) else float("inf") for a, b in pairs), default=0
        )

    @property
    def verdict(self) -> str:
        """One of "reproduced", "reproduced within 0.05 points", "not reproduced"."""
        if not self.differing:
            return "reproduced"
        close = self.largest <= USUAL and self.changed
        return f"reproduced within {USUAL} points" if close else "not reproduced"

    def __str__(self) -> str:
        if not self.differing:
            return f"{self.verdict}: all {self.numbers} numbers came back"
        shown = [f"{name} {before} -> {now}" for name, (before, now) in self.differing.items()]
        hints = [f"{name} {before} -> {now}" for name, (before, now) in self.changed.items()]
        return (
            f"{self.verdict}: {len(shown)} of {self.numbers} numbers differ, by at most "
            f"{self.largest:.3f} ({'; '.join(shown[:3])}); what has changed: "
            f"{'; '.join(hints) or 'nothing that the file knows of'}"
        )


def readable(path: Path) -> tuple[dict, Config]:
    """A run file and its Config.

    Raises InputError where the file is missing or damaged, or a file that it names has changed.
    """
    record = read_run(path)
    config = Config.from_dict(record["config"])
    now = contents.digests(config)
    changed = [name for name, digest in record["inputs"].items() if now.get(name) != digest]
    if changed:
        raise InputError(
            f"{path.name} was made from other files: {', '.join(changed)}. Paths are relative to "
            "the folder in which it was made."
        )
    return record, config


def replay(path: Path, device: str | None = None, bar: bool = False) -> Replay:
    """Trains and measures the Config of the run file `path` again; the file stays as it is.

    Uses as many threads as the run did. Resumable. Raises InputError where `readable` does.
    """
    before, config = readable(path)
    prepare([config], bar)
    checkpoint = checkpoint_of(f"replay-{path.stem}", beginning(config))
    usual = torch.get_num_threads()
    torch.set_num_threads(before["stamp"]["threads"])
    try:
        after = finite(measured(config, checkpoint, device, bar))
    finally:
        torch.set_num_threads(usual)
    checkpoint.delete()
    old, new = before["metrics"], after["metrics"]
    differing = {name: (old[name], new.get(name)) for name in old if old[name] != new.get(name)}
    then, now = ({**r["stamp"], **r["stamp"]["packages"]} for r in (before, after))
    pairs = {name: (then.get(name, "unknown"), now[name]) for name in DEPENDS}
    changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return Replay(len(old), differing, changed)
