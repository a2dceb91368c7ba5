"""Commands that make and read the runs of the study, and lists of what there is."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from .options import Command, Data, Sized, near


def _text(table) -> str:
    return table.to_string(index=False, float_format="%.2f", na_rep="")


@dataclass(frozen=True)
class Grid(Sized):
    """All missing runs of sections. Without a section, lists them, and their cost."""

    INTERRUPTED = "finished runs are kept, and the same command makes the rest"
    sections: Positional[tuple[str, ...]] = ()  # As `mocose sections` lists, or all.
    seeds: tuple[int, ...] | None = None  # Of every point; default: the profile's.
    # Processes side by side, 0: in this one; default: MOCOSE_WORKERS, or one a core.
    workers: int | None = None

    def main(self) -> None:
        from mocose_study.runs.run import run_grid
        from mocose_study.sections import SECTIONS

        names = tuple(SECTIONS) if self.sections in ((), ("all",)) else self.sections
        known = [SECTIONS[near(name, SECTIONS, "section")] for name in names]
        runs = [section.configs(self.profile, self.seeds) for section in known]
        if not self.sections:
            return self.list(dict(zip(names, runs, strict=True)))
        configs = [config for found in runs for config in found]
        done = run_grid(configs, self.profile, self.workers)
        print(f"{len(done)} runs of profile {self.profile} are done")

    def list(self, sections: dict) -> None:
        from mocose_study.runs.files import read_whole, run_file
        from mocose_study.runs.progress import seconds_of

        for name, configs in sections.items():
            records = {c: read_whole(run_file(c, self.profile)) for c in configs}
            missing = [c for c, record in records.items() if not record]
            seconds = seconds_of(missing, filter(None, records.values()))
            cost = f", {seconds / 3600:.1f} hours" if missing and seconds else ""
            if configs:  # else it is not at this profile
                print(f"{name:22} {len(missing):5} of {len(records):5} missing{cost}")
        print("Hours are those of one process, by the section's finished runs.")
        print("`mocose grid SECTION` makes those of a section, `mocose grid all` all.")


@dataclass(frozen=True)
class Study(Sized):
    """What is missing of the study at a profile: runs, then executed notebooks."""

    INTERRUPTED = "what is done is kept, and the same command makes the rest"
    notebooks: str = ""  # Those to make, as "04 20"; default: all.
    workers: int | None = None  # Processes side by side; default: as for `mocose grid`.

    def main(self) -> None:
        from mocose_study.runs.study import study

        study(self.profile, self.notebooks, self.workers)


@dataclass(frozen=True)
class Results(Sized):
    """Mean, 95 % interval and number of seeds of every point of the sections."""

    sections: Positional[tuple[str, ...]] = ()  # Default: all.

    def main(self) -> None:
        from mocose_study.results.tables import summary, table_of
        from mocose_study.sections import SECTIONS

        for name in self.sections or tuple(SECTIONS):
            runs = table_of(SECTIONS[near(name, SECTIONS, "section")], self.profile)
            print(f"{name} ({self.profile})")
            print(_text(summary(runs)) if len(runs) else "  no runs yet")


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

    INTERRUPTED = "an earlier report is as it was, and the same command starts over"

    def main(self) -> None:
        from mocose_study.results.site import make_report

        print(make_report(self.profile))


@dataclass(frozen=True)
class Readme(Command):
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
        print(_text(table(record).reset_index()))
        print(f"Seconds of a run of profile {self.profile}:")
        print("\n".join(f"{part:12}{x:8.1f}" for part, x in record["run"].items()))
        print(path)


@dataclass(frozen=True)
class Pretrain(Data):
    """Trains an encoder on masked words into data/encoders/<name>; goes on later."""

    INTERRUPTED = "the same command goes on from the last checkpoint, if there is one"
    profile: str = "tiny"  # A profile of pre-training, such as tiny or mini.
    folder: Path | None = None  # For the encoder; default: data/encoders/<profile>.
    card: bool = False  # Only writes the model card anew, with the scores of its runs.

    def main(self) -> None:
        from mocose_study.config import choose
        from mocose_study.config.profiles import PRETRAINING
        from mocose_study.data.files import study_folder

        config = choose(PRETRAINING, self.profile, "pre-training profile")
        from mocose_study.pretraining.pretrain import make_encoder
        from mocose_study.results.use import write_card

        folder = self.folder or study_folder() / "data" / "encoders" / config.name
        if not self.card:
            make_encoder(config, folder)
        write_card(folder, config)
        print(folder)


@dataclass(frozen=True)
class Sections(Command):
    """The sections of the study, each with its question."""

    def main(self) -> None:
        from mocose_study.sections import SECTIONS

        for name, section in SECTIONS.items():
            print(f"{name:20} {section.question}")


@dataclass(frozen=True)
class Systems(Command):
    """The systems that `mocose run --method` trains."""

    def main(self) -> None:
        from mocose_study.systems import SYSTEMS

        for name, system in SYSTEMS.items():
            about = sys.modules[system.__module__].__doc__.splitlines()[0]
            print(f"{name:20} {about}")


@dataclass(frozen=True)
class Profiles(Command):
    """The sizes at which the study runs."""

    def main(self) -> None:
        from mocose_study.config import PROFILES, configure

        for name in PROFILES:
            c = configure(name)
            text = f"{c.corpus_size:,} sentences of {c.corpus}, benchmark {c.benchmark}"
            print(f"{name:14} {c.encoder}, {text}, {c.steps:,} steps")
