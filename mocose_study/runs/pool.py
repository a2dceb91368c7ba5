"""Processes side by side, a job each; a killed one takes only its own job with it."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import as_completed
from functools import partial

import torch
from pebble import ProcessExpired, ProcessPool
from transformers.utils.logging import disable_progress_bar

from mocose_study.config import InputError
from mocose_study.fast.processor import default_device


def outcomes(
    call: Callable, jobs: Iterable, workers: int
) -> Iterator[tuple[object, object, Exception | None]]:
    """(job, call(job), None) or (job, None, error) of every job, as each ends.

    `workers` single-threaded processes work side by side; 0: the jobs run in this one. All
    processes are ended when the caller stops listening, or is killed.
    """
    if workers == 0:
        yield from (_outcome(job, partial(call, job)) for job in jobs)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPool(workers, initializer=start_worker, context=spawn)
    try:
        futures = {pool.schedule(call, args=[job]): job for job in jobs}
        for future in as_completed(futures):
            yield _outcome(futures[future], future.result)
    finally:
        pool.stop()
        pool.join()


def _outcome(job, result: Callable) -> tuple[object, object, Exception | None]:
    try:
        return job, result(), None
    except ProcessExpired as killed:
        cause = f"its process was killed (exit code {killed.exitcode})"
        return job, None, InputError(f"{cause}; the same command goes on from here")
    except Exception as error:
        return job, None, error


def start_worker() -> None:
    """One thread computes. The main process answers Ctrl-C, and ends the worker."""
    torch.set_num_threads(1)
    disable_progress_bar()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(lambda: os._exit(1))


def end_with_parent(end: Callable[[], object]) -> None:
    """Calls `end` once the process that started this one is gone, perhaps long since."""
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), end()), daemon=True).start()


def worker_count(wanted: int | None) -> int:
    """`wanted`; for None MOCOSE_WORKERS if set; else one on a GPU, or one a core.

    Raises InputError when that is not a number of processes.
    """
    text = os.environ.get("MOCOSE_WORKERS") if wanted is None else str(wanted)
    if text is None:
        return 1 if default_device() == "cuda" else os.cpu_count() or 1
    if not text.isdecimal():
        raise InputError(
            f"workers (or MOCOSE_WORKERS) = {text!r} is not possible; it must be 0, "
            "for runs in this process, or a number of processes."
        )
    return int(text)
