"""A run: one Config in, one file out. Runs are the truth; all else is derived from them."""

import hashlib
import json
import logging
import math
import multiprocessing
import os
import platform
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from mocose_lib.evaluation import evaluate, transfer
from mocose_lib.evaluation.sts import Encode, similarities
from mocose_lib.files import sweep, write_atomically
from mocose_study.claims import stats
from mocose_study.config import Config, InputError, choose
from mocose_study.data import benchmarks, contents
from mocose_study.data.files import study_folder
from mocose_study.fast import logistic

log = logging.getLogger(__name__)
SHARED = (  # fields that decide what runs train on
    "method", "encoder", "encoder_layers", "corpus", "corpus_size", "max_length", "batch_size",
    "benchmark", "text_augmentation", "augmentation_models", "augmentation_rate",
    "augmented_views", "positives", "statistics", "vectors", "sif", "triplets", "span_anchors",
)  # fmt: skip
METHOD_ROOMS = ("systems", "fast", "rewriting")  # what decides a run's numbers, beside the library
PACKAGES = ("torch", "transformers", "datasets", "tokenizers", "numpy", "scipy")


def run_id(config: Config) -> str:
    """The run's name: its method and a digest of all fields and of the contents they name."""
    text = config.identity() + json.dumps(contents.digests(config), sort_keys=True)
    return f"{config.method}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def run_file(config: Config, profile: str) -> Path:
    return study_folder() / "data" / "runs" / profile / f"{run_id(config)}.json"


def is_done(config: Config, profile: str) -> bool:
    return run_file(config, profile).exists()


def code_version() -> str:
    """The package's version, and a digest of the method's source: library, systems, fast forms."""
    import mocose_lib

    study = Path(__file__).parents[1]
    folders = (Path(mocose_lib.__file__).parent, *(study / room for room in METHOD_ROOMS))
    sources = b"".join(p.read_bytes() for folder in folders for p in sorted(folder.rglob("*.py")))
    try:
        release = version("mocose-lib")
    except PackageNotFoundError:
        release = "uninstalled"
    return f"{release}+{hashlib.sha256(sources).hexdigest()[:8]}"


def stamp(device: str) -> dict:
    """Where and with what a run was made."""
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return {
        "code": code_version(), "python": platform.python_version(), "device": f"{device}: {name}",
        "threads": torch.get_num_threads(), "packages": {p: version(p) for p in PACKAGES},
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }  # fmt: skip


def default_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def run(config: Config, profile: str, device: str | None = None, bar: bool = False) -> Path:
    """Trains and measures `config`, unless its file is there already; returns the file.

    Interrupted at any moment, it goes on from its last checkpoint when called again, and ends
    with the same numbers. The file appears once, whole.
    """
    path = run_file(config, profile)
    if path.exists():
        return path
    checkpoint = study_folder() / "data" / "checkpoints" / f"{path.stem}.pt"
    record = {"id": path.stem, **measured(config, checkpoint, device, bar)}
    text = json.dumps(finite(record), indent=1, allow_nan=False) + "\n"
    write_atomically(path, lambda p: p.write_text(text))
    checkpoint.unlink(missing_ok=True)
    sweep(checkpoint)
    return path


def measured(
    config: Config, checkpoint: Path, device: str | None = None, bar: bool = False, save=None
) -> dict:
    """Trains `config`, going on from `checkpoint` if it is there: what its run file says.

    `save(fitted)` is called with the trained system, where given.
    """
    from mocose_lib.evaluation.sts import remembering
    from mocose_study.data.corpora import load_corpus
    from mocose_study.systems import METHODS, probe
    from mocose_study.systems.whitening import whitened

    fit = choose(METHODS, config.method, "method")
    device = device or default_device()
    started = time.monotonic()
    fitted = fit(config, checkpoint, device, bar)
    if save:
        save(fitted)
    encode = remembering(fitted.encode)
    if config.whitened_on:
        texts = list(load_corpus(config.corpus, config.whitened_on)["sentence"])
        encode = whitened(encode, texts)
    metrics = scores(encode, config) | probe.measure(encode, config.benchmark)
    if fitted.progress.history:
        metrics["sts_last"] = fitted.progress.history[-1]["test"]
    spectrum = probe.spectrum(encode, config.benchmark)
    record = {
        "config": asdict(config), "inputs": contents.digests(config),
        "metrics": {name: round(value, 4) for name, value in metrics.items()},
        "spectrum": [round(float(value), 4) for value in spectrum],
        "progress": asdict(fitted.progress),
        "seconds": round(time.monotonic() - started, 2), "stamp": stamp(device),
    }  # fmt: skip
    if config.resamples:
        tables = benchmarks.test_tables(config.benchmark)
        resampled = resampled_average(encode, tables, config.resamples)
        record["resampled"] = [round(float(value), 4) for value in resampled]
    return record


def scores(encode, config: Config) -> dict[str, float]:
    """All numbers of the test tasks, with `sts_avg`, `sts_dev`, and those of the transfer tasks.

    "sts_avg" is the mean over the test tasks, all pairs of a task pooled.
    """
    test = evaluate(encode, benchmarks.test_tables(config.benchmark))
    dev = evaluate(encode, benchmarks.dev_tables(config.benchmark))["average"]
    found = {"sts_avg": test.pop("average"), "sts_dev": dev, **test}
    if config.transfer:
        tasks = {name: benchmarks.transfer_task(name) for name in benchmarks.TRANSFER}
        accuracy = transfer.evaluate(encode, tasks, logistic.fit_predict)
        found["transfer_avg"] = float(np.mean([accuracy[f"{t} test"] for t in tasks]))
        found["transfer_dev_avg"] = float(np.mean([accuracy[f"{t} dev"] for t in tasks]))
        found |= accuracy
    return found


def resampled_average(encode: Encode, tables: dict, n: int) -> np.ndarray:
    """The average over tasks on each of `n` bootstrap resamples of the test pairs: (n,)."""
    found = similarities(encode, tables)
    return np.mean([
        stats.resampled(tables[name]["score"], similarity, n, seed)
        for seed, (name, similarity) in enumerate(found.items())
    ], axis=0)  # fmt: skip


def finite(value):
    """The same with null for what strict JSON has no word for: NaN and infinities."""
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def prepare(configs: Iterable[Config], bar: bool = False) -> None:
    """Checks and caches all that the runs share, before the first starts: bad input ends here."""
    from mocose_study.data.corpora import load_corpus
    from mocose_study.rewriting import text_augment
    from mocose_study.systems import INPUTS, METHODS
    from mocose_study.systems.base import load_encoder

    for config in configs:
        choose(METHODS, config.method, "method")
    sharing = {attrgetter(*SHARED)(c): c for c in configs}.values()
    sharing = sorted(sharing, key=lambda c: c.text_augmentation != "none")  # the long work last
    rewritten = [c for c in sharing if c.text_augmentation != "none"]
    for config in rewritten:
        text_augment.check(config, load_corpus(config.corpus, config.corpus_size))
    for config in sharing:
        encoder = load_encoder(config, default_device() if config in rewritten else "cpu")
        benchmarks.dev_tables(config.benchmark), benchmarks.test_tables(config.benchmark)
        INPUTS[config.method](config, encoder, bar)


def _start_worker() -> None:
    """One thread computes; another ends the worker with the process that started it.

    Without that a killed grid would leave workers that go on, or wait for ever.
    """
    import torch

    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


def worker_count(wanted: int | None) -> int:
    """`wanted`; for None MOCOSE_WORKERS if set, else one on a GPU, and one a core without.

    Raises InputError when that is not a number of processes.
    """
    text = os.environ.get("MOCOSE_WORKERS") if wanted is None else str(wanted)
    if text is None:
        return 1 if default_device() == "cuda" else os.cpu_count() or 1
    if not text.isdecimal():
        raise InputError(
            f"workers (or MOCOSE_WORKERS) = {text!r} is not possible; it must be 0, for runs in "
            "this process, or a number of processes."
        )
    return int(text)


def _outcomes(
    configs: list[Config], profile: str, workers: int
) -> Iterator[tuple[Config, BaseException | None]]:
    """Runs the configs; yields each as it ends, with its error if it failed."""
    if workers == 0:
        for config in configs:
            yield config, _attempt(config, profile)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=_start_worker) as pool:
        jobs = {pool.submit(run, config, profile): config for config in configs}
        try:
            for job in as_completed(jobs):
                yield jobs[job], job.exception()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _attempt(config: Config, profile: str) -> Exception | None:
    try:
        run(config, profile)
    except Exception as error:
        return error
    return None


def run_grid(
    configs: Iterable[Config], profile: str, workers: int | None = None, bar: bool = True
) -> list[Path]:
    """Runs what is missing, in `workers` single-threaded processes side by side; 0: in this one.

    Skips finished runs. A failing run does not stop the others; all failures are reported
    together at the end, as one InputError.
    """
    workers = worker_count(workers)
    configs = list(dict.fromkeys(configs))
    missing = [c for c in configs if not is_done(c, profile)]
    failures: list[str] = []
    if missing:
        prepare(missing, bar)
        done = len(configs) - len(missing)
        with tqdm(total=len(configs), initial=done, desc=f"{profile} runs", disable=not bar) as shown:
            for config, error in _outcomes(missing, profile, workers):
                if error:
                    failures.append(f"{run_id(config)}: {error}")
                shown.update()
    if failures:
        raise InputError(f"{len(failures)} of {len(missing)} runs failed; " + "; ".join(failures[:3]))
    return [run_file(c, profile) for c in configs]
