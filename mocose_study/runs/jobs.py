"""Work for a GPU that one has for minutes: what is done, what is next, and a piece.

A piece keeps within its seconds, and the next one goes on where it stopped. Its results
are copied into a folder, and from there into the study at home.
"""

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from transformers import BertConfig, BertModel

from mocose_lib import evaluate
from mocose_study.config import Config, configure, vary
from mocose_study.config.profiles import PRETRAINING
from mocose_study.data import benchmarks
from mocose_study.data.files import cache_folder, shipped, study_folder
from mocose_study.fast.processor import default_device
from mocose_study.pretraining.pretrain import make_encoder
from mocose_study.sections import SECTIONS
from mocose_study.systems import fit
from mocose_study.systems.base import load_encoder

from .files import run_ids
from .progress import left
from .run import run_grid

TRIED = "data/cache/jobs"  # where jobs of a few steps are tried out
FEW = {"corpus_size": 12_000, "tokens_per_batch": 4_096, "warmup_steps": 1}


@dataclass(frozen=True)
class Job:
    """The runs of sections at a profile, or an encoder, or its bench."""

    name: str  # of the profile or the encoder
    sections: tuple[str, ...] = ()
    seeds: Sequence[int] | None = None  # None: the profile's
    sizes: dict | None = None  # of a BertConfig: random weights, timed

    def configs(self, steps: int | None = None) -> list[Config]:
        """Its runs; with `steps` only so long, and on a small benchmark."""
        own = (SECTIONS[name].configs(self.name, self.seeds) for name in self.sections)
        varied = (vary(c, **shorter(steps)) for configs in own for c in configs)
        return list(dict.fromkeys(varied))

    def results(self, steps: int | None = None) -> list[str]:
        """A pattern below data/ for each of its results; one that matches is done."""
        if self.sizes is not None:
            return [f"runs/bench/{self.name}{half}-c*.json" for half in ("", "-bf16")]
        if not self.sections:
            return [f"encoders/{self.name}/pretraining.json"]
        names = run_ids(self.configs(steps))
        return [f"runs/{self.name}/{name}.json" for name in names]

    def made(self, steps: int | None = None) -> list[Path]:
        """What it has made so far: results, and checkpoints for the next piece."""
        results = self.results(steps)
        more = [f"checkpoints/{Path(result).stem}.pt" for result in results]
        more += [] if self.sections else [f"encoders/{self.name}/*"]
        data = study_folder() / "data"
        return [path for pattern in results + more for path in data.glob(pattern)]

    def make(self, steps: int | None, workers: int | None, bench: Callable) -> None:
        if self.sizes is not None:
            self.time(steps, bench)
        elif not self.sections:
            self.pretrain(steps)
        else:
            if workers is None and default_device() == "cuda":
                workers = os.cpu_count()
            run_grid(self.configs(steps), self.name, workers)

    def pretrain(self, steps: int | None) -> None:
        config = PRETRAINING[self.name]
        config = replace(config, steps=steps, **FEW) if steps else config
        folder = with_words(study_folder() / "data/encoders" / self.name)
        make_encoder(config, folder, partial(trained_from, self, steps))

    def time(self, steps: int | None, bench: Callable) -> None:
        folder = with_words(cache_folder() / self.name)
        BertModel(BertConfig(**self.sizes)).save_pretrained(folder)
        for precision in ("float32", "bf16"):
            run = configure("quick", encoder=str(folder), precision=precision)
            bench(run, default_device(), *((1, steps) if steps else (3, 20)))


JOBS = {
    "headline": Job("tiny", ("full_length",)),  # mini has no range (`02_encoders`)
    "tables": Job("tiny", ("slices", "collapse", "ema", "heads", "queue", "distance")),
    "small": Job("small"),
    "bert-base": Job("bert-base", sizes={}),
}


def shorter(steps: int | None) -> dict:
    """The changes that make a run so many steps long; none for None."""
    few = {"benchmark": "sample", "corpus_size": FEW["corpus_size"]}
    return {"steps": steps, "eval_every": steps, **few} if steps else {}


def trained_from(job: Job, steps: int | None, folder: Path) -> dict[str, float]:
    """Dev scores of an encoder's [CLS], and of MoCoSE trained from it at the pace."""
    changes = {"corpus": PRETRAINING[job.name].corpus, **shorter(steps)}
    config = configure(job.name, encoder=str(folder), **changes)
    pairs, device = benchmarks.dev_tables(config.benchmark), default_device()
    before = evaluate(load_encoder(config, device).encode, pairs)["average"]
    after = evaluate(fit(config, None, device, False).encode, pairs)["average"]
    return {"untrained": round(before, 2), "trained": round(after, 2)}


def with_words(folder: Path) -> Path:
    """The folder, with the tokenizer of `tiny`: training one takes a minute."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(shipped("encoders/tiny") / name, folder)
    return folder


def progress(steps: int | None = None) -> Iterator[tuple[str, int, int, float | None]]:
    """For each job its name, results finished and in all, and the seconds left."""
    data = study_folder() / "data"
    for name, job in JOBS.items():
        done = [any(data.glob(pattern)) for pattern in job.results(steps)]
        seconds = left(job.configs(steps), job.name)[1]
        yield name, sum(done), len(done), seconds


def make(name: str, seconds: int, out: Path, steps: int | None, **how) -> None:
    """Makes a piece of a job, and copies what it has made to the same places in `out`.

    `how`: `workers`, and the function `bench`. No checkpoint is older than 10 seconds.
    """
    os.environ["MOCOSE_CHECKPOINT_SECONDS"] = "10"
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(seconds)
    try:
        JOBS[name].make(steps, **how)
    except KeyboardInterrupt:
        if signal.alarm(0):  # there was time left: a person has interrupted it
            raise
    finally:
        signal.alarm(0)
        for path in JOBS[name].made(steps):
            place = out / path.relative_to(study_folder())
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


def try_out() -> None:
    """From now on this process makes all in TRIED, and nothing of the study."""
    os.environ["MOCOSE_STUDY"] = str(study_folder() / TRIED)
