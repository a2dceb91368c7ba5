"""Work for a GPU that is lent for minutes: what is done, what is next, a piece of it.

A piece keeps within its seconds, and goes on where the last one stopped. What it has
made leaves as an archive in shards; `take` puts that in its place elsewhere. An H200
with 16 cores read the text of `mini` in 80 seconds and trained it in 257; twelve workers
side by side needed 17 seconds for a run of 300 steps.
"""

import io
import os
import shutil
import signal
import tarfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from transformers import BertConfig, BertModel

from mocose_lib import evaluate
from mocose_study.config import Config, InputError, configure, vary
from mocose_study.config.profiles import PRETRAINING
from mocose_study.data import benchmarks, sources
from mocose_study.data.corpora import CORPORA
from mocose_study.data.files import cache_folder, shipped, study_folder
from mocose_study.fast.processor import default_device
from mocose_study.pretraining.pretrain import make_encoder
from mocose_study.sections import SECTIONS
from mocose_study.systems import SYSTEMS, fit
from mocose_study.systems.base import load_encoder

from .files import read_whole, run_ids
from .progress import seconds_of
from .run import run_grid
from .study import check

MOST, SHARD = 64 << 20, 16 << 20  # bytes that go in or come out, and of a shard
TRIED = "data/cache/jobs"  # where jobs of a few steps are tried out
FEW = {"corpus_size": 12_000, "tokens_per_batch": 4_096, "warmup_steps": 1}  # at most


@dataclass(frozen=True)
class Job:
    """The runs of sections at a profile on one corpus, or an encoder, or its bench."""

    name: str  # of the profile or the encoder
    sections: tuple[str, ...] = ()
    seeds: Sequence[int] | None = None  # None: the profile's
    corpus: str = "wiki900k"
    sizes: dict | None = None  # of a BertConfig: random weights, timed

    def configs(self, steps: int | None = None) -> list[Config]:
        """Its runs; with `steps` so long only, on a small benchmark."""
        own = (SECTIONS[name].configs(self.name, self.seeds) for name in self.sections)
        found = [c for configs in own for c in configs if c.corpus == self.corpus]
        few = {"steps": steps, "eval_every": steps, "benchmark": "sample"}
        size = {"corpus_size": FEW["corpus_size"]}
        found = [vary(c, **few, **size) if steps else c for c in found]
        return list(dict.fromkeys(found))

    def results(self, steps: int | None = None) -> list[str]:
        """A pattern below data/ for each file that shows how far it is."""
        if self.sizes is not None:
            return [f"runs/bench/{self.name}{half}-c*.json" for half in ("", "-bf16")]
        names = run_ids(self.configs(steps))
        runs = [f"runs/{self.name}/{name}.json" for name in names]
        return runs or [f"encoders/{self.name}/pretraining.json"]

    def made(self, steps: int | None = None) -> list[Path]:
        """All that has come out so far: results first, then what goes on from there."""
        results = self.results(steps)
        more = [f"checkpoints/{Path(result).stem}.pt" for result in results]
        more += [] if self.sections else [f"encoders/{self.name}/*"]
        data = study_folder() / "data"
        found = [path for pattern in results + more for path in data.glob(pattern)]
        return sorted(dict.fromkeys(found), key=lambda path: path.suffix == ".pt")

    def make(self, steps: int | None, workers: int | None, bench: Callable) -> None:
        if self.sizes is not None:
            self.time(steps, bench)
        elif not self.sections:
            self.pretrain(steps)
        else:
            check(self.configs(), self.name)
            if workers is None and default_device() == "cuda":
                workers = os.cpu_count()
            run_grid(self.configs(steps), self.name, workers)

    def pretrain(self, steps: int | None) -> None:
        config = PRETRAINING[self.name]
        few = {name: min(getattr(config, name), most) for name, most in FEW.items()}
        config = replace(config, steps=steps, **few) if steps else config
        folder = with_words(study_folder() / "data/encoders" / self.name)
        make_encoder(config, folder, partial(trained_from, self, steps))

    def time(self, steps: int | None, bench: Callable) -> None:
        folder = with_words(cache_folder() / self.name)
        BertModel(BertConfig(**self.sizes)).save_pretrained(folder)
        for precision in ("float32", "bf16"):
            run = configure("quick", encoder=str(folder), precision=precision)
            bench(run, default_device(), *((1, steps) if steps else (3, 20)))

    def reads(self) -> set[str]:
        """The files of the data folder that it reads."""
        if self.sizes is not None:
            return set()
        splits, files = ("dev", "test", "train"), benchmarks.STS.values()
        pairs = {file["file"].format(split=split) for file in files for split in splits}
        if not self.sections:
            return pairs | {*CORPORA[PRETRAINING[self.name].corpus]}
        own = [c for c in self.configs() if "triplets" in SYSTEMS[c.method].reads]
        return pairs | {*CORPORA[self.corpus]} | {config.triplets for config in own}


def trained_from(job: Job, steps: int | None, folder: Path) -> dict[str, float]:
    """Dev scores of an encoder's [CLS], and of MoCoSE trained from it at the pace."""
    few = {"steps": steps, "eval_every": steps, "benchmark": "sample"}
    few = few | {"corpus_size": FEW["corpus_size"]} if steps else {}
    corpus = PRETRAINING[job.name].corpus
    config = configure(job.name, encoder=str(folder), corpus=corpus, **few)
    pairs, device = benchmarks.dev_tables(config.benchmark), default_device()
    before = evaluate(load_encoder(config, device).encode, pairs)["average"]
    fitted = fit(config, None, device, False)
    after = evaluate(fitted.encode, pairs)["average"]
    return {"untrained": round(before, 2), "trained": round(after, 2)}


JOBS = {
    "mini": Job("mini"),
    "rate": Job("mini", ("rate",)),
    "rate-documents": Job("mini", ("rate",), corpus="wiki_documents"),
    "headline": Job("tiny", ("full_length",)),  # mini has no range (`02_encoders`)
    "tables": Job("tiny", ("slices", "collapse", "ema", "heads", "queue", "distance")),
    "small": Job("small"),
    "bert-base": Job("bert-base", sizes={}),
}


def with_words(folder: Path) -> Path:
    """The folder, with the tokenizer of `tiny`: training one takes a minute."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(shipped("encoders/tiny") / name, folder)
    return folder


def states(steps: int | None = None) -> Iterator[tuple[str, int, int, float | None]]:
    """Of each job: its name, results done and all, and seconds left by stored runs."""
    data = study_folder() / "data"
    for name, job in JOBS.items():
        done = [any(data.glob(pattern)) for pattern in job.results(steps)]
        runs = zip(job.configs(steps), done, strict=False)  # encoders have none
        missing = [config for config, there in runs if not there]
        known = map(read_whole, data.glob(f"runs/{job.name}/*.json"))
        left = seconds_of(missing, filter(None, known)) if missing else None
        yield name, sum(done), len(done), left


def make(name: str, seconds: float, out: Path, steps: int | None, **how) -> list[str]:
    """A piece of a job. Returns what is made, but too large to go out, by name.

    `how`: `workers`, and the function `bench`. No checkpoint is older than 10 seconds.
    """
    os.environ["MOCOSE_CHECKPOINT_SECONDS"] = "10"
    end, main = time.monotonic() + seconds, threading.main_thread().ident
    timer = threading.Timer(seconds, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    try:
        JOBS[name].make(steps, **how)
    except KeyboardInterrupt:
        if time.monotonic() < end:  # a person's
            raise
    finally:
        timer.cancel()
        left_out = pack(name, out, steps)
    return left_out


def pack(name: str, out: Path, steps: int | None = None) -> list[str]:
    """Writes <name>.tar.gz.00, .01, ... Returns what does not fit into MOST bytes."""
    size, left_out, buffer = 0, [], io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as archive:
        for path in JOBS[name].made(steps):
            if size + path.stat().st_size > MOST:
                left_out.append(path.name)
            else:
                size += path.stat().st_size
                archive.add(path, path.relative_to(home()))
    out.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, buffer.tell(), SHARD)):
        shard = out / f"{name}.tar.gz.{number:02}"
        shard.write_bytes(buffer.getvalue()[start : start + SHARD])
    return left_out


def take(source: Path) -> list[str]:
    """Puts what pieces elsewhere have made in its place. Results that are there stay.

    Raises InputError where there is no archive, or a damaged one.
    """
    taken, shards = [], sorted(source.glob("*.tar.gz.[0-9][0-9]"))
    for name in dict.fromkeys(path.stem for path in shards):
        parts = [path.read_bytes() for path in shards if path.stem == name]
        try:
            with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as archive:
                for member in archive.getmembers():
                    target = home() / member.name
                    if not target.exists() or target.suffix == ".pt":
                        archive.extract(member, home(), filter="data")
                        taken.append(member.name)
        except (tarfile.TarError, EOFError, zlib.error) as why:
            raise InputError(f"{name} in {source} is damaged: {why}.") from None
    if not shards:
        raise InputError(f"{source} has no archive of a job.")
    return taken


def carry(name: str, target: Path) -> int:
    """Copies the data that a job reads into a folder, and returns their bytes.

    Raises InputError where that is more than MOST, or there is no data folder.
    """
    if (data := sources.folder()) is None:
        raise InputError("there is no data folder; give --data or MOCOSE_DATA.")
    names = {*JOBS[name].reads(), "SHA256SUMS"}
    files = [data / file for file in names if (data / file).is_file()]
    if (size := sum(path.stat().st_size for path in files)) > MOST:
        what = f"job {name} reads {size >> 20} MiB"
        raise InputError(f"{what}; only {MOST >> 20} can be carried.")
    for path in files:
        place = target / path.relative_to(data)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    return size


def try_out() -> None:
    """From now on this process makes all in TRIED, and nothing of the study."""
    os.environ["MOCOSE_STUDY"] = str(home() / TRIED)


def home() -> Path:
    """The study's folder, also while jobs are tried out below it."""
    study = study_folder()
    return study.parents[2] if study.match(TRIED) else study
