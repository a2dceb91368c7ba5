"""Processes side by side, each with a job; a killed one loses only its own job."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial

import torch
from pebble import ProcessExpired, ProcessPool
from transformers.utils.logging import disable_progress_bar

from mocose_study.config import InputError
from mocose_study.fast.processor import default_device

Outcome = tuple[tuple, object, Exception | None]


def outcomes(call: Callable, jobs: Iterable[tuple], workers: int) -> Iterator[Outcome]:
    """(job, call(*job), None) or (job, None, error) of every job, as each ends.

    At most `workers` single-threaded processes work side by side; 0: this one alone.
    All processes are ended when the caller stops listening, or is killed.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(1)  # a worker that imports its parent's script must not start another
    if workers == 0:
        yield from (_outcome(job, partial(call, *job)) for job in jobs)
        return
    spawn = multiprocessing.get_context("spawn")
    jobs = list(jobs)
    pool = ProcessPool(min(workers, len(jobs)) or 1, 0, start_worker, context=spawn)
    try:
        futures = {pool.schedule(call, args=job): job for job in jobs}
        for future in as_completed(futures):
            yield _outcome(futures[future], future.result)
    finally:
        pool.stop()
        pool.join()


def _outcome(job: tuple, result: Callable) -> Outcome:
    try:
        return job, result(), None
    except ProcessExpired as killed:
        cause = f"its process was killed (exit code {killed.exitcode})"
        return job, None, InputError(f"{cause}; the same command goes on from here")
    except BrokenProcessPool:
        need = 'a script that starts runs needs `if __name__ == "__main__":`'
        return job, None, InputError(f"no worker could start; {need}, or workers = 0")
    except Exception as error:
        return job, None, error


def start_worker() -> None:
    """One thread computes. The main process answers Ctrl-C, and ends the worker."""
    torch.set_num_threads(1)
    disable_progress_bar()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(multiprocessing.parent_process().pid)


def end_with(parent: int) -> None:
    """Ends this process at once when that process, which started it, is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def worker_count(wanted: int | None) -> int:
    """`wanted`; for None MOCOSE_WORKERS if set; else one on a GPU, or one a core.

    Raises InputError when that is not a number of processes.
    """
    text = os.environ.get("MOCOSE_WORKERS") if wanted is None else str(wanted)
    if text is None:
        return 1 if default_device() == "cuda" else os.cpu_count() or 1
    if not text.isdecimal() or len(text) > 9:
        raise InputError(
            f"workers (or MOCOSE_WORKERS) = {text!r} is not possible; it must be 0, "
            "for runs in this process, or a number of processes."
        )
    return int(text)
