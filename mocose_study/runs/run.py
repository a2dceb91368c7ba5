"""A run: one Config in, one file out. All else is derived from these files."""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

from filelock import FileLock, Timeout
from tqdm.auto import tqdm

from mocose_study.config import Config, InputError
from mocose_study.data import benchmarks
from mocose_study.data.atomic import sweep
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.data.corpora import load_corpus
from mocose_study.data.files import cache_folder, study_folder
from mocose_study.data.git import code_at
from mocose_study.data.labelled import transfer_tasks
from mocose_study.data.sources import warn_once
from mocose_study.fast.processor import check_precision, default_device
from mocose_study.fast.ranks import ranks
from mocose_study.rewriting import text_augment
from mocose_study.systems import SYSTEMS, check, fit
from mocose_study.systems.base import Fitted, load_encoder

from .files import is_done, read_whole, run_file, run_id, write_run
from .measure import measured
from .pool import outcomes, worker_count

log = logging.getLogger(__name__)
SHARED = (  # fields that decide what runs train on
    "method encoder corpus corpus_size max_length batch_size benchmark dev selection "
    "text_augmentation augmentation_models augmentation_rate augmented_views positives "
    "statistics vectors triplets"
)


def make_run(
    config: Config,
    path: Path,
    device: str | None = None,
    bar: bool = False,
    save: Callable[[Fitted], object] | None = None,
    wait: bool = True,
) -> bool:
    """Trains and measures `config`, unless its file `path` is there already.

    Interrupted at any moment, it goes on from its last checkpoint when called again,
    and ends with the same numbers. The file appears once, whole. While another process
    makes the same run, it waits, or, without `wait`, returns False at once. `save` gets
    the trained system, and has it trained anew.
    """
    checkpoint = checkpoint_of(path.stem)
    if ranks().rank:  # the first process measures, and writes
        if save or read_whole(path) is None:
            device = device or default_device()
            fit(config, checkpoint, device, False)
        return True
    locks = cache_folder() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(locks / f"{path.stem}.lock").acquire(timeout=-1 if wait else 0)
    except Timeout:
        return False
    with lock:
        if save or read_whole(path) is None:
            write_run(path, measured(config, checkpoint, device, bar, save))
        checkpoint.delete()
    return True


def checkpoint_of(name: str) -> Checkpoint:
    """Where the run of that name is kept while it trains."""
    path = study_folder() / "data" / "checkpoints" / f"{name}.pt"
    return Checkpoint(path, code_at())


def prepare(configs: Sequence[Config], bar: bool = False) -> None:
    """Checks and caches all that the runs share. So bad input ends here, at once."""
    sweep(study_folder() / "data")
    device = default_device()
    for config in configs:
        check(config)
        check_precision(config, device)
        own = config.benchmark not in benchmarks.BENCHMARKS
        if own and config.selection == "dev" and not config.dev:
            warn_once(
                "without --dev, English image captions (images2014) choose the "
                "checkpoint"
            )
    if any(config.transfer for config in configs):
        transfer_tasks()
    sharing = list({attrgetter(*SHARED.split())(c): c for c in configs}.values())
    rewritten = [c for c in sharing if c.text_augmentation != "none"]
    for config in rewritten:
        text_augment.check(config, load_corpus(config.corpus, config.corpus_size))
    for config in sorted(sharing, key=lambda c: c in rewritten):  # these take long
        encoder = load_encoder(config, device if config in rewritten else "cpu")
        benchmarks.dev_tables(config.benchmark, config.dev, config.selection == "blind")
        benchmarks.test_tables(config.benchmark)
        SYSTEMS[config.method].inputs(config, encoder, bar)


def run_grid(
    configs: Iterable[Config],
    profile: str,
    workers: int | None = None,
    bar: bool = True,
) -> list[Path]:
    """Runs what is missing, in `workers` processes side by side; 0: in this one.

    Waits at the end for runs that another grid makes just now. A failing run does not
    stop the others; all failures are reported at the end, as one InputError.
    """
    workers = worker_count(workers)
    paths = {config: run_file(config, profile) for config in configs}
    todo = missing = [config for config in paths if not is_done(config, profile)]
    failures: list[str] = []
    for config in paths.keys() - missing:  # a kill may have come right after the file
        checkpoint_of(paths[config].stem).delete()
    if missing:
        prepare(missing, bar)
    count = {"total": len(paths), "initial": len(paths) - len(missing)}
    with tqdm(**count, desc=f"{profile} runs", disable=not bar or not missing) as shown:
        for wait in (False, True):
            if not todo:
                break
            if wait:
                log.info("waiting for %d runs that another process makes", len(todo))
            elsewhere = []
            attempt = partial(_attempt, profile=profile, wait=wait)
            for config, made, error in outcomes(attempt, todo, workers):
                if error:
                    failures.append(f"{run_id(config)}: {str(error).rstrip('.')}")
                if made or error:
                    shown.update()
                else:
                    elsewhere.append(config)
            todo = elsewhere
    if failures:
        told = "; ".join(failures[:3])
        raise InputError(f"{len(failures)} of {len(missing)} runs failed; {told}.")
    return list(paths.values())


def _attempt(config: Config, profile: str, wait: bool) -> bool:
    return make_run(config, run_file(config, profile), wait=wait)
