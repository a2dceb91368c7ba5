"""A run: one Config in, one file out. Everything else comes from these files."""

import logging
import time
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
from mocose_study.systems import SYSTEMS, check, fit, input_digests
from mocose_study.systems.base import Fitted, check_positions, load_encoder

from .files import read_run, read_whole, run_files, write_run
from .measure import measured
from .pool import outcomes, worker_count

log = logging.getLogger(__name__)
SHARED = (  # fields that decide what runs train on
    "method encoder corpus corpus_size max_length batch_size benchmark dev selection "
    "text_augmentation augmentation_models augmentation_rate augmented_views positives "
    "statistics vectors triplets eval_max_length"
)


def make_run(
    config: Config,
    path: Path,
    device: str | None = None,
    bar: bool = False,
    then: Callable[[Fitted, dict], object] | None = None,
    wait: bool = True,
) -> bool:
    """Trains and measures `config`, unless its file `path` is there already.

    Interrupted at any moment, it goes on from its last checkpoint when called again,
    and ends with the same numbers. The file appears once, whole. While another process
    makes the same run, it waits, or, without `wait`, returns False at once. `then` gets
    the trained system, which is trained anew for it, and the record. The checkpoint
    stays until that has ended. Raises InputError as `trained` does.
    """
    checkpoint, device = checkpoint_of(path.stem), device or default_device()
    if ranks().rank:  # the first process measures, and writes
        if then or read_whole(path) is None:
            fit(config, checkpoint, device, False)
        return True
    lock = FileLock(cache_folder() / "locks" / f"{path.stem}.lock")
    try:
        held = lock.acquire(blocking=wait)
    except Timeout:
        return False
    with held:
        if then or read_whole(path) is None:
            record, fitted = trained(config, checkpoint, device, bar)
            write_run(path, record)
            if then:
                then(fitted, read_run(path))
        checkpoint.delete()
    return True


def trained(
    config: Config, checkpoint: Checkpoint, device: str, bar: bool
) -> tuple[dict, Fitted]:
    """Trains `config`, from its checkpoint if there is one: the record, the system.

    Raises InputError where a file that the run reads has changed meanwhile.
    """
    before, started = input_digests(config), time.monotonic()
    fitted = fit(config, checkpoint, device, bar)
    seconds = time.monotonic() - started
    record = measured(config, fitted, device, seconds, checkpoint.codes)
    if changed := [k for k in before if before[k] != record["inputs"].get(k)]:
        checkpoint.delete()
        what = f"{changed[0]} was changed while the run trained"
        raise InputError(f"{what}; no run file is written, so run it again.")
    return record, fitted


def checkpoint_of(name: str) -> Checkpoint:
    """Where the run of that name is kept while it trains."""
    path = study_folder() / "data" / "checkpoints" / f"{name}.pt"
    return Checkpoint(path, code_at())


def prepare(configs: Sequence[Config], bar: bool = False) -> None:
    """Checks and caches what the runs share, so that bad input ends here, at once."""
    checkpoint_of("none")  # an impossible MOCOSE_CHECKPOINT_SECONDS ends here
    sweep(study_folder() / "data")
    device = default_device()
    for config in configs:
        check(config)
        check_precision(config, device)
        if not config.benchmark.strip():
            raise InputError("benchmark = '' names no pairs; leave it out.")
        own = config.benchmark not in benchmarks.BENCHMARKS
        if own and config.selection == "dev" and not config.dev:
            captions = "English image captions (images2014)"
            warn_once(f"without --dev, {captions} choose the checkpoint")
    if any(config.transfer for config in configs):
        transfer_tasks()
    sharing = list({attrgetter(*SHARED.split())(c): c for c in configs}.values())
    rewritten = [c for c in sharing if c.text_augmentation != "none"]
    for config in rewritten:
        text_augment.check(config, load_corpus(config.corpus, config.corpus_size))
    for config in sorted(sharing, key=lambda c: c in rewritten):  # these take long
        encoder = load_encoder(config, device if config in rewritten else "cpu")
        if config.eval_max_length > Config.eval_max_length:  # the default may be cut
            check_positions(config, encoder, "eval_max_length")
        benchmarks.dev_tables(config.benchmark, config.dev)
        benchmarks.test_tables(config.benchmark)
        SYSTEMS[config.method].inputs(config, encoder, bar)


def run_grid(
    configs: Iterable[Config],
    profile: str,
    workers: int | None = None,
    folder: Path | None = None,
) -> list[Path]:
    """Makes the missing runs, in `workers` processes side by side; 0: in this one.

    Then it waits for those that another grid makes. A failing run does not stop the
    others; all failures are reported at the end, as one InputError. folder: where the
    runs go; default: those of the study, data/runs/<profile>.
    """
    workers = worker_count(workers)
    paths = run_files(configs, profile, folder)
    missing = [config for config, path in paths.items() if not read_whole(path)]
    failures: list[str] = []
    for config in paths.keys() - missing:  # a kill may have come right after the file
        checkpoint_of(paths[config].stem).delete()
    if missing:
        prepare(missing, bar=True)
    todo, total = missing, len(missing)
    with tqdm(desc=f"{profile} runs", total=total, disable=not missing) as progress:
        for wait in (False, True):  # at first not for those that another process makes
            if wait and todo:
                log.info("waiting for %d runs that another process makes", len(todo))
            jobs, todo = [(config, paths[config]) for config in todo], []
            make = partial(make_run, bar=workers < 2, wait=wait)
            for (config, path), made, error in outcomes(make, jobs, workers):
                if error:
                    failures.append(f"{path.stem}: {str(error).rstrip('.')}")
                elif not made:
                    todo.append(config)
                progress.update(made or error is not None)
    if failures:
        reasons = "; ".join(failures[:3])
        raise InputError(f"{len(failures)} of {total} runs failed; {reasons}.")
    return list(paths.values())
