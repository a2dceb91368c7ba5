"""What `make study` has to make: which runs and notebooks are missing, changed or old.

Snakemake makes what has no marker. A notebook's marker holds the checksums of its
source, its executed copy and its figures. A batch of runs has an empty one.
"""

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from snakemake.cli import main as snakemake

from mocose_study.config import PROFILES, Config, InputError, choose
from mocose_study.data import benchmarks, contents, corpora, encoders
from mocose_study.data.labelled import transfer_tasks
from mocose_study.sections import SECTIONS
from mocose_study.systems.base import data_file

from .files import read_whole, run_file

LOCK = Path("data/cache/study.lock")
NAME = re.compile(r"\d\d_\w+", re.ASCII)  # of a section's notebook; copies have others
HOW = "--nolock --rerun-incomplete --rerun-triggers mtime --keep-going --quiet rules"


class Plan:
    """The runs of the notebooks' sections in batches, each as large as runs are short.

    A batch is a job. It is all runs where one takes seconds, since a process for every
    section would take as long; a section where one takes a minute; and a section's
    runs of one seed, one after the other, where each wants a GPU.
    """

    def __init__(self, profile: str, notebooks: Sequence[str]):
        self.profile, self.notebooks = profile, notebooks
        self.folder = Path("data/cache/done", profile)
        grids = {
            name: grid for name, grid in SECTIONS.items() if grid.notebook in notebooks
        }
        self.batches: dict[str, tuple[list[str], list[int] | None]]
        if profile in ("smoke", "quick"):
            self.batches = {"all": (list(grids), None)} if grids else {}
        elif profile in ("tiny", "mini"):
            self.batches = {name: ([name], None) for name in grids}
        else:
            self.batches = {
                f"{name}-{seed}": ([name], [seed])
                for name, grid in grids.items()
                for seed in sorted({run.seed for run in grid.configs(profile)})
            }

    def batches_of(self, notebook: str) -> list[str]:
        """Those of its sections; all for one without, such as the ledger."""
        own = {name for name, grid in SECTIONS.items() if grid.notebook == notebook}
        found = [batch for batch, (names, _) in self.batches.items() if own & {*names}]
        return found if own else list(self.batches)

    def read(self) -> None:
        """Reads the runs that there are: `runs` by batch, `records` and `missing`."""
        self.runs = {
            batch: [
                c for name in names for c in SECTIONS[name].configs(self.profile, seeds)
            ]
            for batch, (names, seeds) in self.batches.items()
        }
        self.paths = {
            c: run_file(c, self.profile) for part in self.runs.values() for c in part
        }
        self.records = {config: read_whole(path) for config, path in self.paths.items()}
        self.missing = [config for config, record in self.records.items() if not record]

    def forget(self) -> list[str]:
        """Drops the markers of what is not as it was made; the notebooks to execute."""
        for batch, configs in self.runs.items():
            marker = self.folder / "runs" / batch
            whole = all(map(self.records.get, configs)) and marker.exists()
            if not whole or any(newer(self.paths[c], marker) for c in configs):
                marker.unlink(missing_ok=True)
        waiting = []
        for name in self.notebooks:
            marker = self.folder / "notebooks" / name
            if not is_as_made(marker):
                marker.unlink(missing_ok=True)
            needed = [self.folder / "runs" / batch for batch in self.batches_of(name)]
            if not all(path.exists() for path in (marker, *needed)):
                waiting.append(name)
        return waiting

    def told(self, waiting: list[str], cores: str) -> str:
        """What is to be made, and the hours that it takes by the runs that are there."""
        text = f"profile {self.profile}: {len(self.missing)} of {len(self.paths)} runs to make"
        if self.missing:
            text += f", {self.hours(int(cores) if cores.isdigit() else 1)}"
        return f"{text}; {len(waiting)} of {len(self.notebooks)} notebooks to execute"

    def hours(self, cores: int) -> str:
        seconds = {c: record["seconds"] for c, record in self.records.items() if record}
        if not seconds:
            return "and no run is there that says how long"
        total, counted = 0.0, set()
        for configs in self.runs.values():
            own = [seconds[c] for c in configs if c in seconds] or list(
                seconds.values()
            )
            todo = {c for c in configs if c not in seconds} - counted
            total, counted = total + len(todo) * np.mean(own), counted | todo
        return f"about {total / cores / 3600:.1f} hours by the times of the others"


def newer(path: Path, marker: Path) -> bool:
    return path.stat().st_mtime_ns > marker.stat().st_mtime_ns


def is_as_made(marker: Path) -> bool:
    """Whether a marker's files have its checksums still."""
    told = marker.read_text() if marker.exists() else ""
    files = [line.split(" ", 2)[2] for line in told.splitlines() if line.count(" ") > 1]
    again = subprocess.run(
        ["cksum", "--", *files], capture_output=True, stdin=subprocess.DEVNULL
    )
    return bool(files) and again.stdout.decode() == told


def notebooks(wanted: str = "") -> list[str]:
    """Notebooks of sections, by number or name, as "04 20"; all without `wanted`.

    Says which other notebooks are left out.
    """
    there = sorted(path.stem for path in Path("notebooks").glob("[0-9]*.ipynb"))
    for name in there:
        if not NAME.fullmatch(name):
            print(
                f"make study: {name!r} is left out, since it is no section's notebook"
            )
    known = {name: [name] for name in there if NAME.fullmatch(name)}
    by_number = {name[:2]: [] for name in known}
    for name in known:
        by_number[name[:2]].append(name)
    found = [choose(known | by_number, word, "notebook") for word in wanted.split()]
    return sorted({name for names in found for name in names}) if found else list(known)


def needs(config: Config) -> Iterable[tuple[str, Callable, str]]:
    """What a run reads: its kind, what opens it, and its name."""
    yield "benchmark", benchmarks.test_tables, config.benchmark
    if config.method not in contents.NO_ENCODER:
        for name in (config.encoder, *config.augmentation_models):
            yield "encoder", encoders.source, name
    if config.method not in contents.NO_CORPUS:
        yield "corpus", corpora.corpus_files, config.corpus
    if config.method == "word_vectors":
        yield "file", data_file, config.vectors
    if config.method == "simcse_supervised":
        yield "file", data_file, config.triplets
    if config.transfer:
        yield "the transfer tasks of", lambda name: transfer_tasks(), "SentEval"


def check(configs: Iterable[Config], profile: str) -> None:
    """Raises InputError, one sentence, with all that these runs need and nobody has."""
    lacking = {}
    for kind, opened, name in dict.fromkeys(need for c in configs for need in needs(c)):
        try:
            opened(name)
        except InputError as cause:
            lacking[f"{kind} {name}"] = str(cause).rstrip(".")
    if lacking:
        first = next(iter(lacking.values()))
        raise InputError(
            f"profile {profile} lacks {', '.join(lacking)}; of the first: {first}."
        )


def make(flags: list[str]) -> int:
    """The study of the environment's PROFILE, DATA, NOTEBOOKS; what `study.main` returns."""
    try:
        profile = os.environ["PROFILE"]
        choose(PROFILES, profile, "profile")
        if data := os.environ.get("DATA"):
            if not Path(data).is_dir():
                raise InputError(
                    f"DATA = {data!r} is no folder; give the folder with the data."
                )
            os.environ["MOCOSE_DATA"] = str(Path(data).resolve())
        plan = Plan(profile, notebooks(os.environ.get("NOTEBOOKS", "")))
        plan.read()
        check(plan.missing, profile)
        LOCK.parent.mkdir(parents=True, exist_ok=True)
        with LOCK.open("w") as lock:
            if wait_for(lock):
                plan.read()
            waiting, cores = plan.forget(), os.environ.get("CORES") or "1"
            print(f"make study: {plan.told(waiting, cores)}", flush=True)
            about = (f"profile={profile}", f"notebooks={','.join(plan.notebooks)}")
            engine = [
                "--snakefile",
                "Snakefile",
                *HOW.split(),
                "--cores",
                cores,
                "--config",
            ]
            return snakemake([*engine, *about, *flags])
    except InputError as wrong:
        said = str(wrong)
    except OSError as wrong:
        said = f"{wrong.strerror or wrong}: {wrong.filename or 'while writing'}"
    sys.stderr.write(f"make study: {said}\n")
    return 2


def wait_for(lock) -> bool:
    """Takes the lock; whether another study had it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        print(
            "another `make study` is at work in this folder; waiting for it to end",
            flush=True,
        )
        fcntl.flock(lock, fcntl.LOCK_EX)
        return True
