"""Commands for a single run and for trained models, and lists of what there is."""

import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal

from tyro import MISSING
from tyro.conf import OmitArgPrefixes, Positional

from mocose_study.config import PROFILES, Config, InputError, configure
from mocose_study.data.files import study_folder


@dataclass(frozen=True)
class Data:
    """Options of every command that reads data."""

    data: str | None = None  # Folder with the real data; MOCOSE_DATA does the same.


@dataclass(frozen=True)
class Sized(Data):
    """Options of every command that works at a size."""

    profile: str = "quick"  # One of those that `mocose profiles` lists.


@dataclass(frozen=True)
class Run(Sized):
    """One run: trains and measures a system, and prints its scores."""

    preset: str = "study"  # One of study, described, code, moco.
    out: Path | None = (
        None  # Folder of the run's file; default: runs/ in the study's folder.
    )
    # Folder for the trained encoder, which sentence-transformers and transformers load.
    save: Path | None = None
    push_to_hub: str | None = None  # With --save: uploads that folder under this name.
    log: Path | None = (
        None  # Folder for the curves of the training, for TensorBoard and as CSV.
    )
    # Each field of the Config; profile and preset give the defaults.
    config: OmitArgPrefixes[Config] = field(default_factory=Config)

    def main(self) -> None:
        from mocose_study.fast.ranks import ranks
        from mocose_study.results import use
        from mocose_study.runs import run
        from mocose_study.runs.files import read_run, run_id, write_curves
        from mocose_study.systems import saved_whole

        if self.push_to_hub and not self.save:
            raise InputError("--push-to-hub uploads the folder of --save; give both.")
        if self.save and not saved_whole(self.config):
            raise InputError(
                f"{self.config.method} is no encoder alone; leave out --save."
            )
        taken = self.save and self.save.exists() and any(self.save.iterdir())
        if taken and not (self.save / "mocose.json").exists():
            raise InputError(
                f"{self.save} has other files; give --save a folder of its own."
            )
        if self.log and not find_spec("tensorboard"):
            raise InputError(
                "--log needs the package tensorboard: pip install tensorboard."
            )
        if ranks().size > 1 and self.config.method != "mocose":
            raise InputError(
                f"{self.config.method} trains in one process; leave out `accelerate`."
            )
        if self.push_to_hub:
            use.make_repository(self.push_to_hub)
        run.prepare([self.config], bar=True)
        path = (self.out or study_folder() / "runs") / f"{run_id(self.config)}.json"
        for folder in filter(None, (path.parent, self.save, self.log)):
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(
                dir=folder
            ).close()  # what cannot be written says so before the training
        trained = []
        run.make_run(
            self.config, path, bar=True, save=trained.append if self.save else None
        )
        if ranks().rank:
            return
        record = read_run(path)
        use.show(record["metrics"])
        if self.log:
            write_curves(record, self.log)
        if self.save:
            use.save(trained[0], record, self.save, self.push_to_hub)
        print(self.save or path)


@dataclass(frozen=True)
class Evaluate(Data):
    """Scores of a model: a folder, a name of the hub, or an encoder of the study."""

    # As `mocose run --save` wrote it, or any that transformers or sentence-transformers load.
    model: Positional[str] = MISSING
    # Files of scored pairs; default: the seven STS tasks, or the open ones without their data.
    sts: tuple[Path, ...] = ()
    transfer: bool = False  # Measures the seven transfer tasks, too.
    # Default: the one that the model was saved with, else cls.
    pooling: Literal["cls", "cls_pooler", "mean", "first_last"] | None = None
    json: bool = False  # Prints JSON.
    beside: str | None = None  # A profile whose systems are shown beside the model.

    def main(self) -> None:
        from mocose_study.results import use

        here, there = use.tasks(), self.beside and configure(self.beside).benchmark
        if self.beside and self.sts:
            raise InputError(
                "--beside shows averages over other tasks than --sts; leave one out."
            )
        if self.beside and here != there:
            raise InputError(
                f"{self.beside} has scores of {there!r}, not {here!r}; see --data."
            )
        encode = use.encode_of(self.model, self.pooling)
        use.show(use.measure(encode, self.sts, self.transfer), self.json, self.beside)


@dataclass(frozen=True)
class Embed:
    """Vectors of the lines of a text file, as a NumPy array on standard output."""

    model: Positional[str] = MISSING  # As for `mocose evaluate`.
    file: Positional[Path] = MISSING  # One sentence a line: .txt, .txt.xz or .txt.gz.

    def main(self) -> None:
        from mocose_study.results import use

        if sys.stdout.isatty():
            raise InputError(
                "vectors are no text; use `mocose embed MODEL FILE > vectors.npy`."
            )
        use.embed(use.encode_of(self.model), self.file, sys.stdout.buffer)


@dataclass(frozen=True)
class Sections:
    """The sections of the study, each with its question."""

    def main(self) -> None:
        from mocose_study.sections import SECTIONS

        for name, grid in SECTIONS.items():
            print(f"{name:20} {grid.question}")


@dataclass(frozen=True)
class Systems:
    """The systems that `mocose run --method` trains."""

    def main(self) -> None:
        from mocose_study.systems import METHODS

        for name, fit in METHODS.items():
            (kind,) = getattr(
                fit, "args", [fit]
            )  # a class whose training `fit` is, or itself
            print(f"{name:20} {sys.modules[kind.__module__].__doc__.splitlines()[0]}")


@dataclass(frozen=True)
class Profiles:
    """The sizes at which the study runs."""

    def main(self) -> None:
        for name in PROFILES:
            c = configure(name)
            text = f"{c.corpus_size:,} sentences of {c.corpus}"
            print(
                f"{name:14} {c.encoder}, {text}, benchmark {c.benchmark}, {c.steps:,} steps"
            )
