"""`mocose run`: profile, preset and method give the defaults that options change."""

import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

import tyro
from tyro.conf import OmitArgPrefixes

from mocose_study.config import Config, InputError
from mocose_study.config.profiles import fields_of
from mocose_study.data.files import study_folder

from .commands import Sized


@dataclass(frozen=True)
class Run(Sized):
    """One run: trains and measures a system, and prints its scores."""

    preset: str = "study"  # One of study, described, code, moco.
    out: Path | None = None  # Folder of the run's file; default: runs/ of the study.
    # Folder for the trained encoder, which sentence-transformers and transformers load.
    save: Path | None = None
    # Each field of the Config; profile and preset give the defaults.
    config: OmitArgPrefixes[Config] = field(default_factory=Config)

    def main(self) -> None:
        from mocose_study.fast.ranks import ranks
        from mocose_study.results import models
        from mocose_study.runs import files, run

        self.check(ranks().size)
        run.prepare([self.config], bar=True)
        path = self.path()
        for folder in filter(None, (path.parent, self.save)):
            check_writable(folder)
        before = models.untrained(self.config)
        save = partial(models.save, target=self.save)
        run.make_run(self.config, path, None, True, save if self.save else None)
        if ranks().rank:
            return
        record = files.read_run(path)
        models.show(record["metrics"])
        print(self.save or path)
        print(models.gain(before, record["metrics"]["sts_avg"]))

    def path(self) -> Path:
        from mocose_study.runs.files import run_file

        return run_file(self.config, "", self.out or study_folder() / "runs")

    def check(self, processes: int) -> None:
        """Raises InputError for options that do not go together, or with the system."""
        from mocose_study.systems import check

        system, save = check(self.config), self.save
        if save and not system.saved_whole(self.config):
            raise InputError(f"{system.name} is no encoder alone; leave out --save.")
        taken = save and save.exists() and any(save.iterdir())
        if taken and not (save / "mocose.json").exists():
            raise InputError(f"{save} has other files; give --save its own folder.")
        if processes > 1 and system.name != "mocose":
            what = f"{system.name} trains in one process"
            raise InputError(f"{what}; leave out `accelerate`.")


def check_writable(folder: Path) -> None:
    """Raises InputError where no file, or not a byte of one, can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(buffering=0, dir=folder) as file:
            file.write(b"0")
            os.fsync(file.fileno())
    except OSError as cause:
        raise InputError(f"{folder} cannot be written: {cause.strerror}.") from None


@dataclass(frozen=True)
class Head:
    """The options that decide what the others are by default."""

    profile: str = "quick"
    preset: str = "study"
    method: str = "mocose"
    corpus: str = ""
    corpus_size: str = ""
    batch_size: str = ""  # another one changes the steps


def parsed_run(options: list[str]) -> Run:
    """The run of a command line. Raises InputError for what it cannot be."""
    head, _ = tyro.cli(Head, args=options, return_unknown_args=True, add_help=False)
    given = {"method": head.method}
    if head.batch_size.isdecimal() and len(head.batch_size) < 10:
        given["batch_size"] = int(head.batch_size)
    values = vars(Config()) | fields_of(head.profile, head.preset, **given)
    # a text of one's own is taken whole
    if not head.corpus_size and Path(head.corpus).is_file():
        from mocose_study.data.corpora import CORPORA, text_lines

        if head.corpus not in CORPORA:
            values["corpus_size"] = sum(map(bool, text_lines([Path(head.corpus)])))
        if (number := values["corpus_size"]) < 2:
            few = "one sentence; give one a line" if number else "no sentences"
            raise InputError(f"corpus {head.corpus!r} has {few}.")
    config = object.__new__(Config)  # unchecked: an option may mend a contradiction
    vars(config).update(values)
    default = Run(profile=head.profile, preset=head.preset, config=config)
    return tyro.cli(Run, args=options, default=default, prog="mocose run")
