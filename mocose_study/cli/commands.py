"""The commands but `run`: a class each, whose fields are its options."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro import MISSING
from tyro.conf import Positional


@dataclass(frozen=True)
class Data:
    """Options of every command that reads data."""

    data: str | None = None  # Folder with the real data; MOCOSE_DATA does the same.


@dataclass(frozen=True)
class Sized(Data):
    """Options of every command that works at a size."""

    profile: str = "quick"  # One of those that `mocose list profiles` names.


@dataclass(frozen=True)
class Grid(Sized):
    """Makes missing runs of sections. Without a section, lists them and their cost."""

    sections: Positional[tuple[str, ...]] = ()  # Of `mocose list sections`; or all.
    seeds: tuple[int, ...] | None = None  # Of every point; default: the profile's.
    # Processes side by side, 0: in this one; default: MOCOSE_WORKERS, or one a core.
    workers: int | None = None

    def main(self) -> None:
        from mocose_study.config import choose
        from mocose_study.runs.progress import left
        from mocose_study.runs.run import run_grid
        from mocose_study.sections import SECTIONS

        names = tuple(SECTIONS) if self.sections in ((), ("all",)) else self.sections
        known = [choose(SECTIONS, name, "section") for name in names]
        runs = [section.configs(self.profile, self.seeds) for section in known]
        if self.sections:
            configs = [config for own in runs for config in own]
            done = run_grid(configs, self.profile, self.workers)
            return print(f"{len(done)} runs of profile {self.profile} are done")
        for name, configs in zip(names, runs, strict=True):
            missing, seconds = left(configs, self.profile)
            if configs:  # else it is not at this profile
                cost = f", {seconds / 3600:.1f} hours" if missing and seconds else ""
                print(f"{name:22} {len(missing):5} of {len(configs):5} missing{cost}")
        print("Hours are those of one process, by the section's finished runs.")
        print("`mocose grid SECTION` makes those of a section, `mocose grid all` all.")


@dataclass(frozen=True)
class Study(Sized):
    """Makes what the study lacks at a profile: runs, then executed notebooks."""

    notebooks: str = ""  # Those to make, as "04 20"; default: all.
    workers: int | None = None  # Processes side by side; default: as for `mocose grid`.

    def main(self) -> None:
        from mocose_study.runs.study import study

        study(self.profile, self.notebooks, self.workers)


@dataclass(frozen=True)
class Claims(Sized):
    """The verdicts on the papers' claims, counted."""

    # Instead: names claims whose rule, by git, is younger than a run that it judges,
    # and settings that are neither the authors' nor the section's; exit code 1 if any.
    check: bool = False

    def main(self) -> None:
        from mocose_study.results import ledger

        if not self.check:
            return print(ledger.counted(ledger.judged(self.profile)).to_string())
        late = ledger.late(self.profile)
        unlike = ledger.unlike_the_authors(self.profile)
        for rule in late.itertuples():
            older = f"{rule.older} of its {rule.n} runs are older"
            print(f"{rule.Index}: {older} than its rule, of {rule.written}")
        for run in unlike.itertuples():
            what = f"{run.field} = {run.value}, which the authors have not"
            print(f"{run.section}, {run.label}: {what}")
        if len(late) or len(unlike):
            raise SystemExit(1)
        print("every rule is older than its runs, and all have the authors' settings")


@dataclass(frozen=True)
class Report(Sized):
    """The executed notebooks of a profile as a site."""

    def main(self) -> None:
        from mocose_study.results.site import make_report

        print(make_report(self.profile))


@dataclass(frozen=True)
class Readme:
    """Writes the tables of the README anew, from the runs that there are."""

    def main(self) -> None:
        from mocose_study.data.files import study_folder
        from mocose_study.results import readme

        readme.write(study_folder() / "README.md")


@dataclass(frozen=True)
class Bench(Sized):
    """Speed of a training step beside its peers and the machine's floor."""

    encoder: str | None = None  # As for `mocose run`; default: the profile's.
    device: Literal["cpu", "cuda"] | None = None  # Default: the GPU where there is one.
    repeats: int = 5  # Rounds in which all that is compared takes turns.
    steps: int = 20  # Timed steps of each in each round.
    authors: Path | None = None  # A checkout of the authors' code, to be timed, too.

    def main(self) -> None:
        from mocose_study.bench import bench, table
        from mocose_study.config import configure, vary
        from mocose_study.fast.processor import default_device

        run = configure(self.profile)
        run = vary(run, encoder=self.encoder or run.encoder)
        device = self.device or default_device()
        path = bench(run, device, self.repeats, self.steps, self.authors)
        record = json.loads(path.read_text())
        print("Milliseconds a step, and their ratio to ours:")
        print(table(record).reset_index().to_string(index=False, float_format="%.2f"))
        print(f"Seconds of a run of profile {self.profile}:")
        print("\n".join(f"{part:12}{x:8.1f}" for part, x in record["run"].items()))
        print(path)


@dataclass(frozen=True)
class Pretrain(Data):
    """Trains an encoder on masked words into data/encoders/<name>; goes on later."""

    profile: str = "tiny"  # A profile of pre-training, such as tiny or mini.
    folder: Path | None = None  # For the encoder; default: data/encoders/<profile>.
    card: bool = False  # Only writes the model card anew, with the scores of its runs.

    def main(self) -> None:
        from mocose_study.config import choose
        from mocose_study.config.profiles import PRETRAINING
        from mocose_study.data.files import study_folder

        config = choose(PRETRAINING, self.profile, "pre-training profile")
        from mocose_study.pretraining.pretrain import make_encoder
        from mocose_study.results.models import write_card

        folder = self.folder or study_folder() / "data" / "encoders" / config.name
        if not self.card:
            make_encoder(config, folder)
        write_card(folder, config)
        print(folder)


@dataclass(frozen=True)
class Evaluate(Data):
    """Scores of a model: a folder, a name of the hub, or an encoder of the study."""

    # As `mocose run --save` wrote it, or any of transformers or sentence-transformers.
    model: Positional[str] = MISSING
    # Files of scored pairs; default: the STS tasks, or the open ones without data.
    sts: tuple[Path, ...] = ()
    transfer: bool = False  # Measures the seven transfer tasks, too.
    # Default: the one that the model was saved with, else cls.
    pooling: Literal["cls", "cls_pooler", "mean", "first_last"] | None = None
    json: bool = False  # Prints JSON.

    def main(self) -> None:
        from mocose_study.results import models

        pairs = models.pairs_of(self.sts)  # before the encoder, which takes longer
        encode = models.encode_of(self.model, self.pooling)
        models.show(models.measure(encode, pairs, self.transfer), self.json)


@dataclass(frozen=True)
class Embed:
    """Vectors of the lines of a text file, as a NumPy array on standard output."""

    model: Positional[str] = MISSING  # As for `mocose evaluate`.
    file: Positional[Path] = MISSING  # One sentence a line: .txt, .txt.xz or .txt.gz.

    def main(self) -> None:
        from mocose_study.config import InputError
        from mocose_study.results import models

        if sys.stdout.isatty():
            raise InputError("vectors are no text; add `> vectors.npy` to the command.")
        if not self.file.is_file() or self.file.suffix == ".tsv":
            raise InputError(f"{self.file} is no text with a sentence a line.")
        models.embed(models.encode_of(self.model), self.file, sys.stdout.buffer)


@dataclass(frozen=True)
class List:
    """The sections of the study, its systems, or the sizes at which it runs."""

    what: Positional[Literal["sections", "systems", "profiles"]]

    def main(self) -> None:
        from mocose_study.config import PROFILES, configure
        from mocose_study.sections import SECTIONS
        from mocose_study.systems import SYSTEMS

        if self.what == "sections":
            rows = {name: section.question for name, section in SECTIONS.items()}
        elif self.what == "systems":
            rows = {n: sys.modules[s.__module__].__doc__ for n, s in SYSTEMS.items()}
        else:
            form = "{encoder}, {corpus_size:,} sentences of {corpus}, {steps:,} steps"
            rows = {name: form.format(**vars(configure(name))) for name in PROFILES}
        for name, text in rows.items():
            print(f"{name:22} {text.splitlines()[0]}")


KINDS = (Grid, Study, Claims, Report, Readme, Bench, Pretrain, Evaluate, Embed, List)
