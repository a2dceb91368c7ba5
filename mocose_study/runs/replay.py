"""Whether a finished run's numbers come back: its Config, run once more on this machine."""

from dataclasses import dataclass
from pathlib import Path

from mocose_study.config import Config, InputError
from mocose_lib.files import sweep
from mocose_study.data.files import study_folder
from mocose_study.results.tables import read_run
from mocose_study.runs.run import PACKAGES, encoder_digest, finite, measured, prepare

DEPENDS = ("code", "python", "device", *PACKAGES)  # what digits hang on, beside the threads


@dataclass(frozen=True)
class Replay:
    """What came back: `differing` and `changed` hold (in the file, now) of metrics and the stamp."""

    numbers: int
    differing: dict[str, tuple]
    changed: dict[str, tuple]

    def __str__(self) -> str:
        if not self.differing:
            return f"all {self.numbers} numbers came back"
        shown = [f"{name} {before} -> {now}" for name, (before, now) in self.differing.items()]
        hints = [f"{name} {before} -> {now}" for name, (before, now) in self.changed.items()]
        return (f"{len(shown)} of {self.numbers} numbers differ: {'; '.join(shown[:3])}; "
                f"what has changed: {'; '.join(hints) or 'nothing that the file knows of'}")  # fmt: skip


def readable(path: Path) -> tuple[dict, Config]:
    """A run file and its Config. Raises InputError where it is missing or damaged, or its encoder
    has other weights now."""
    if not path.is_file():
        raise InputError(f"there is no run file {path}; give one of data/runs/<profile>/*.json.")
    record = read_run(path)
    config = Config.from_dict(record["config"])
    if record["encoder_sha256"] != encoder_digest(config.encoder):
        raise InputError(f"{path.name} was made from other weights of encoder {config.encoder!r}.")
    return record, config


def replay(path: Path, device: str | None = None, bar: bool = False) -> Replay:
    """Trains and measures the Config of the run file `path` again; the file stays as it is.

    Digits hang on processor, packages and code: with others the same Config may be another draw,
    as another seed would be. Resumable. Raises InputError where `readable` does.
    """
    before, config = readable(path)
    prepare([config], bar)
    after = finite(_again(config, path.stem, before["stamp"]["threads"], device, bar))
    old, new = before["metrics"], after["metrics"]
    differing = {name: (old[name], new.get(name)) for name in old if old[name] != new.get(name)}
    then, now = ({**r["stamp"], **r["stamp"]["packages"]} for r in (before, after))
    changed = {name: (then[name], now[name]) for name in DEPENDS if then[name] != now[name]}
    return Replay(len(old), differing, changed)


def _again(config: Config, name: str, threads: int, device: str | None, bar: bool) -> dict:
    """What the run measures now, on as many threads."""
    import torch

    checkpoint = study_folder() / "data" / "checkpoints" / f"replay-{name}.pt"
    usual = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        record = measured(config, checkpoint, device, bar)
    finally:
        torch.set_num_threads(usual)
    checkpoint.unlink(missing_ok=True)
    sweep(checkpoint)
    return record
