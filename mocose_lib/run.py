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
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path

from tqdm.auto import tqdm

from .config import Config, StudyError, choose
from .files import STUDY, sweep, write_atomically

log = logging.getLogger(__name__)
SHARED = (  # fields that decide what runs train on
    "method", "encoder", "encoder_layers", "corpus", "corpus_size", "max_length", "batch_size",
    "benchmark", "text_augmentation", "augmentation_models", "augmentation_rate",
    "augmented_views", "positives", "statistics", "vectors", "sif", "triplets", "span_anchors",
)  # fmt: skip
PACKAGES = ("torch", "transformers", "datasets", "tokenizers", "numpy", "scipy")


@cache
def encoder_digest(name: str) -> str:
    """sha256 (first 12 digits) of a local encoder's weights; empty for one from the hub."""
    from .encoder import locate

    weights = (locate(name) or Path()) / "model.safetensors"
    return hashlib.sha256(weights.read_bytes()).hexdigest()[:12] if weights.is_file() else ""


def run_id(config: Config) -> str:
    """The run's name: its method and a digest of all fields and of the weights they name."""
    text = config.identity() + encoder_digest(config.encoder)
    text += "".join(map(encoder_digest, config.augmentation_models))
    return f"{config.method}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def run_file(config: Config, profile: str) -> Path:
    return STUDY / "data" / "runs" / profile / f"{run_id(config)}.json"


def is_done(config: Config, profile: str) -> bool:
    return run_file(config, profile).exists()


def code_version() -> str:
    """The package's version, and a digest of its source, so that edits show."""
    folder = Path(__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py")))
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
    checkpoint = STUDY / "data" / "checkpoints" / f"{path.stem}.pt"
    record = {"id": path.stem, **measured(config, checkpoint, device, bar)}
    text = json.dumps(finite(record), indent=1, allow_nan=False) + "\n"
    write_atomically(path, lambda p: p.write_text(text))
    checkpoint.unlink(missing_ok=True)
    sweep(checkpoint)
    return path


def measured(config: Config, checkpoint: Path, device: str | None = None, bar: bool = False) -> dict:
    """Trains `config`, going on from `checkpoint` if it is there: what its run file says."""
    from . import probe, sts, transfer
    from .data import load_corpus
    from .methods import METHODS
    from .methods.whitening import whitened

    fit = choose(METHODS, config.method, "method")
    device = device or default_device()
    started = time.monotonic()
    fitted = fit(config, checkpoint, device, bar)
    encode = sts.remembering(fitted.encode)
    if config.whitened_on:
        texts = list(load_corpus(config.corpus, config.whitened_on)["sentence"])
        encode = whitened(encode, texts)
    metrics = sts.evaluate(encode, config.benchmark)
    metrics |= probe.measure(encode, config.benchmark)
    if config.transfer:
        metrics |= transfer.evaluate(encode, config.benchmark)
    spectrum = probe.spectrum(encode, config.benchmark)
    record = {
        "config": asdict(config), "encoder_sha256": encoder_digest(config.encoder),
        "metrics": {name: round(value, 4) for name, value in metrics.items()},
        "spectrum": [round(float(value), 4) for value in spectrum],
        "progress": asdict(fitted.progress),
        "seconds": round(time.monotonic() - started, 2), "stamp": stamp(device),
    }  # fmt: skip
    if config.resamples:
        resampled = sts.test_benchmark(config.benchmark).resampled(encode, config.resamples)
        record["resampled"] = [round(float(value), 4) for value in resampled]
    return record


def finite(value):
    """The same with null for what strict JSON has no word for: NaN and infinities."""
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def prepare(configs: Iterable[Config], bar: bool = False) -> None:
    """Checks and caches all that the runs share, before the first starts: bad input ends here."""
    from . import text_augment
    from .data import load_corpus
    from .methods import INPUTS, METHODS
    from .methods.base import load_encoder
    from .sts import dev_benchmark, test_benchmark

    for config in configs:
        choose(METHODS, config.method, "method")
    sharing = {attrgetter(*SHARED)(c): c for c in configs}.values()
    sharing = sorted(sharing, key=lambda c: c.text_augmentation != "none")  # the long work last
    rewritten = [c for c in sharing if c.text_augmentation != "none"]
    for config in rewritten:
        text_augment.check(config, load_corpus(config.corpus, config.corpus_size))
    for config in sharing:
        encoder = load_encoder(config, default_device() if config in rewritten else "cpu")
        dev_benchmark(config.benchmark), test_benchmark(config.benchmark)
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

    Raises StudyError when that is not a number of processes.
    """
    text = os.environ.get("MOCOSE_WORKERS") if wanted is None else str(wanted)
    if text is None:
        return 1 if default_device() == "cuda" else os.cpu_count() or 1
    if not text.isdecimal():
        raise StudyError(
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
    together at the end, as one StudyError.
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
        raise StudyError(f"{len(failures)} of {len(missing)} runs failed; " + "; ".join(failures[:3]))
    return [run_file(c, profile) for c in configs]
