"""Throughput of a grid: single-threaded runs side by side, or one at a time on all cores."""

import multiprocessing
import os
import time
from collections.abc import Iterator

from mocose_study.config import InputError, vary
from mocose_study.runs.pool import start_worker
from mocose_study.bench.clock import in_turns
from mocose_study.bench.material import config_of
from mocose_study.bench.sizes import Sizes


def work(threads: int, device: str, steps: int, seeds: list[int], ready, done) -> None:
    """A process: one uncounted step, then, all at once, a run for every seed."""
    import torch

    from mocose_study.systems import METHODS
    from mocose_lib.evaluation.sts import evaluate

    start_worker()
    torch.set_num_threads(threads)
    config = vary(config_of("2x128", "natural", "float32", 2_000), eval_every=steps, steps=steps)
    METHODS["mocose"](vary(config, steps=1), device=device, bar=False)
    ready.wait()
    start = time.time()
    for seed in seeds:
        fitted = METHODS["mocose"](vary(config, seed=seed), device=device, bar=False)
        evaluate(fitted.encode, config.benchmark)
    done.put((start, time.time()))


def side_by_side(
    processes: int, threads: int, sizes: Sizes, device: str = "cpu"
) -> dict[str, float]:
    """Seconds a run: from the common start to the last end, over all runs."""
    spawn = multiprocessing.get_context("spawn")
    ready, done = spawn.Barrier(processes, timeout=600), spawn.Queue()
    seeds = list(range(sizes.grid_runs))
    jobs = [
        spawn.Process(
            target=work, args=(threads, device, sizes.grid_steps, seeds, ready, done), daemon=True)
        for _ in range(processes)
    ]  # fmt: skip
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    if any(job.exitcode for job in jobs):
        raise InputError("a process of the grid's benchmark failed; its error stands above.")
    spans = [done.get(timeout=60) for _ in jobs]
    whole = max(end for _, end in spans) - min(start for start, _ in spans)
    return {"seconds": whole / (processes * len(seeds))}


def measure(sizes: Sizes, bar) -> list[dict]:
    """A row a turn, with the number of processes and their threads."""
    return list(_rows(sizes, os.cpu_count() or 1, bar))


def _rows(sizes: Sizes, cores: int, bar) -> Iterator[dict]:
    ways = {"one at a time": (1, cores), "side by side": (cores, 1)}
    turns = {
        name: lambda way=way: {"processes": way[0], "threads": way[1], **side_by_side(*way, sizes)}
        for name, way in ways.items()
    }
    yield from in_turns(turns, sizes.rounds, bar)


def turns(sizes: Sizes) -> int:
    return 2 * sizes.rounds
