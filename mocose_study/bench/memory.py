"""Resident memory while a MoCoSE trains on batches of ever new shapes."""

import multiprocessing

from mocose_study.config import InputError, vary
from mocose_study.bench.clock import Enough
from mocose_study.bench.material import config_of
from mocose_study.bench.sizes import Sizes
from mocose_study.bench.training import our_mocose

NOTES = 50  # in all


class Resident:
    """Stands where a Clock would: notes the process's resident memory, and ends after `steps`."""

    def __init__(self, steps: int):
        self.steps, self.count, self.rows = steps, 0, []

    def step(self) -> None:
        import psutil

        if self.count % max(1, self.steps // NOTES) == 0:
            found = psutil.Process().memory_info().rss
            self.rows.append({"step": self.count, "megabytes": found / 2**20})
        if self.count >= self.steps:
            raise Enough
        self.count += 1


def _watch(steps: int, sentences: int, found) -> None:
    import torch

    torch.set_num_threads(1)
    config = config_of("2x128", "natural", "float32", sentences)
    resident = Resident(steps)
    try:
        our_mocose(vary(config, batch_lengths="mixed"), resident)
    except Enough:
        found.put(resident.rows)


def measure(sizes: Sizes, bar) -> list[dict]:
    """step, megabytes; in a process of its own, whose memory nothing else has touched."""
    spawn = multiprocessing.get_context("spawn")
    found = spawn.Queue()
    job = spawn.Process(
        target=_watch, args=(sizes.memory_steps, sizes.sentences, found), daemon=True)  # fmt: skip
    job.start()
    while job.is_alive() and found.empty():
        job.join(timeout=1)
        bar.refresh()
    if job.exitcode:
        raise InputError("the benchmark's memory process failed; its error stands above.")
    rows = found.get(timeout=60)
    job.join()
    bar.update()
    return rows
