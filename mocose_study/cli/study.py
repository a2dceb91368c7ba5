"""Commands that make and read the runs of the study.

What a command needs is imported when it runs, so that help and errors come at once.
"""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from mocose_study.config import InputError, choose
from mocose_study.config.profiles import PRETRAINING
from mocose_study.data.files import encoders_folder

from .single import Data, Sized


def _text(table) -> str:
    return table.to_string(index=False, float_format="%.2f", na_rep="")


@dataclass(frozen=True)
class Grid(Sized):
    """All missing runs of sections. Without a section, lists what is missing, and its cost."""

    sections: Positional[tuple[str, ...]] = ()  # Names that `mocose sections` lists, or all.
    seeds: tuple[int, ...] | None = None  # Seeds of every point; default: the profile's.
    # Processes side by side, 0: in this one; default: MOCOSE_WORKERS, or one a core.
    workers: int | None = None

    def main(self) -> None:
        from mocose_study.results.tables import records
        from mocose_study.runs.run import run_grid
        from mocose_study.sections import GRIDS

        names = tuple(GRIDS) if self.sections in ((), ("all",)) else self.sections
        grids = {name: choose(GRIDS, name, "section") for name in names}
        runs = {name: grid.runs(self.profile, self.seeds) for name, grid in grids.items()}
        if self.sections:
            chosen = [run for found in runs.values() for run in found]
            chosen.sort(key=lambda run: run[0].tier)  # the telling points of every section first
            done = run_grid([config for _, config in chosen], self.profile, self.workers)
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
        print("`mocose grid SECTION` makes those of a section, `mocose grid all` every one.")


@dataclass(frozen=True)
class Results(Sized):
    """Mean, 95 % interval and number of seeds of every point of the sections."""

    sections: Positional[tuple[str, ...]] = ()  # Names that `mocose sections` lists; default: all.
    # Instead: the runs made with other code of their method, or that do not say with which.
    stale: bool = False

    def main(self) -> None:
        from mocose_study.results.tables import summary, table_of
        from mocose_study.runs.method import outdated
        from mocose_study.sections import GRIDS

        for name in self.sections or tuple(GRIDS):
            grid = choose(GRIDS, name, "section")
            if self.stale:
                found = outdated(grid.configs(self.profile), self.profile)
                print(f"{name} ({self.profile}): {len(found)} runs made with other method code")
                print("".join(f"  {run}: {codes}\n" for run, codes in found.items()), end="")
                continue
            runs = table_of(grid, self.profile)
            print(f"{name} ({self.profile})")
            print(_text(summary(runs)) if len(runs) else "  no runs yet")


@dataclass(frozen=True)
class Replay(Data):
    """Runs made once more, and whether their numbers come back."""

    files: Positional[tuple[Path, ...]] = ()  # Run files, as data/runs/<profile>/*.json.

    def main(self) -> None:
        from mocose_study.runs.replay import readable, replay

        if not self.files:
            raise InputError("no run file was named; give one of data/runs/<profile>/*.json.")
        for path in self.files:
            readable(path)  # all of them, before the first is trained
        for path in self.files:
            print(f"{path.stem}: {replay(path, bar=True)}")


@dataclass(frozen=True)
class Pretrain(Data):
    """Trains an encoder on masked words into data/encoders/<name>; goes on where it stopped."""

    profile: str = "tiny"  # A profile of pre-training, such as tiny or mini.
    folder: Path | None = None  # Where the encoder goes; default: data/encoders/<profile>.
    card: bool = False  # Only writes the model card anew, with the scores of the runs there are.

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
    """Speed of training and evaluation beside their peers and the machine's floor."""

    # Rounds in which all that is compared takes turns; default: the profile's.
    repeats: int | None = None
    # Training of each competitor in each round; default: the profile's.
    seconds: float | None = None
    # Some of training, breakdown, evaluation, cost, grid, memory, pretraining, start, gpu.
    parts: tuple[str, ...] = ()
    authors: Path | None = None  # A checkout of the authors' public code, to be timed beside ours.

    def main(self) -> None:
        from mocose_study.bench import tables
        from mocose_study.bench.run import bench

        path = bench(self.profile, self.repeats, self.seconds, self.parts, self.authors)
        shown = tables.ratios(tables.read(path))
        if len(shown):
            print(_text(shown))
        print(path)


@dataclass(frozen=True)
class Claims(Sized):
    """The verdicts on the papers' claims; with an option, the record of the rules."""

    write: bool = False  # Puts the rules of today on record, in data/claims.jsonl.
    # Names claims whose rule is younger than the runs it judges; exit code 1 if there are any.
    check: bool = False

    def main(self) -> None:
        from mocose_study.claims.record import put_on_record
        from mocose_study.results import ledger

        if self.write:
            print(f"{len(put_on_record(ledger.digests()))} rules put on record")
        if self.check:
            late = ledger.late(self.profile)
            print("\n".join(f"{id}: {why}" for id, why in late.items()) or "every rule is older")
            if late:
                raise SystemExit(1)
        if not self.write and not self.check:
            print(ledger.summary(ledger.judged(self.profile)).to_string())
