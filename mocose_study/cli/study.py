"""Commands that make and read the runs of the study.

What a command needs is imported when it runs, so that help and errors come at once.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from mocose_study.config import InputError, choose, configure, vary
from mocose_study.config.profiles import PRETRAINING
from mocose_study.data.files import encoders_folder

from .single import Data, Sized


def _text(table) -> str:
    return table.to_string(index=False, float_format="%.2f", na_rep="")


@dataclass(frozen=True)
class Grid(Sized):
    """All missing runs of sections. Without a section, lists what is missing, and its cost."""

    sections: Positional[
        tuple[str, ...]
    ] = ()  # Names that `mocose sections` lists, or all.
    seeds: tuple[int, ...] | None = (
        None  # Seeds of every point; default: the profile's.
    )
    # Processes side by side, 0: in this one; default: MOCOSE_WORKERS, or one a core.
    workers: int | None = None

    def main(self) -> None:
        from mocose_study.results.tables import records
        from mocose_study.runs.run import run_grid
        from mocose_study.sections import SECTIONS

        names = tuple(SECTIONS) if self.sections in ((), ("all",)) else self.sections
        grids = {name: choose(SECTIONS, name, "section") for name in names}
        runs = {
            name: grid.runs(self.profile, self.seeds) for name, grid in grids.items()
        }
        if self.sections:
            chosen = [run for found in runs.values() for run in found]
            chosen.sort(
                key=lambda run: run[0].tier
            )  # the telling points of every section first
            done = run_grid(
                [config for _, config in chosen], self.profile, self.workers
            )
            return print(f"{len(done)} runs of profile {self.profile} are done")
        for name, found in runs.items():
            if found:  # else it is not at this profile
                done = records(grids[name], self.profile, self.seeds)
                missing = len(found) - len(done)
                seconds = sum(record["seconds"] for _, record in done)
                hours = missing * seconds / len(done) / 3600 if done else 0
                cost = f", {hours:.1f} hours" if hours else ""
                print(f"{name:22} {missing:5} of {len(found):5} runs missing{cost}")
        print("Hours are those of one process, by the section's finished runs.")
        print(
            "`mocose grid SECTION` makes those of a section, `mocose grid all` every one."
        )


@dataclass(frozen=True)
class Results(Sized):
    """Mean, 95 % interval and number of seeds of every point of the sections."""

    sections: Positional[
        tuple[str, ...]
    ] = ()  # Names that `mocose sections` lists; default: all.

    def main(self) -> None:
        from mocose_study.results.tables import summary, table_of
        from mocose_study.sections import SECTIONS

        for name in self.sections or tuple(SECTIONS):
            grid = choose(SECTIONS, name, "section")
            runs = table_of(grid, self.profile)
            print(f"{name} ({self.profile})")
            print(_text(summary(runs)) if len(runs) else "  no runs yet")


@dataclass(frozen=True)
class Pretrain(Data):
    """Trains an encoder on masked words into data/encoders/<name>; goes on where it stopped."""

    profile: str = (
        "tiny-words"  # A profile of pre-training, such as tiny-words or mini.
    )
    folder: Path | None = (
        None  # Where the encoder goes; default: data/encoders/<profile>.
    )
    card: bool = (
        False  # Only writes the model card anew, with the scores of the runs there are.
    )

    def main(self) -> None:
        from mocose_study.pretraining.pretrain import make_encoder
        from mocose_study.results.use import write_card

        config = choose(PRETRAINING, self.profile, "pre-training profile")
        folder = self.folder or encoders_folder() / config.name
        if not self.card:
            make_encoder(config, folder)
        write_card(folder, config)
        print(folder)


@dataclass(frozen=True)
class Report(Sized):
    """The executed notebooks of a profile as a site."""

    INTERRUPTED = "the last report, if there is one, is as it was"

    def main(self) -> None:
        from mocose_study.results.site import make_report

        print(make_report(self.profile))


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
class Claims(Sized):
    """The verdicts on the papers' claims, counted."""

    # Instead: names the claims whose rule, by git, is younger than a run that it judges;
    # exit code 1 if there are any.
    check: bool = False

    def main(self) -> None:
        from mocose_study.results import ledger

        if not self.check:
            return print(ledger.summary(ledger.judged(self.profile)).to_string())
        late = ledger.late(self.profile)
        for rule in late.itertuples():
            older = f"{rule.older} of its {rule.n} runs are older"
            print(f"{rule.Index}: {older} than its rule, of {rule.written}")
        if len(late):
            raise SystemExit(1)
        print("every rule is older than its runs")
