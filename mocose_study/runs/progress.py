"""How far runs are, and how long they take."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf

import pandas as pd
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from mocose_study.config import Config, vary
from mocose_study.fast.processor import default_device
from mocose_study.systems import fit

from .files import read_whole, run_files


def left(configs: Iterable[Config], profile: str) -> tuple[list[Config], float | None]:
    """The runs that are not done, and the seconds that they take (`seconds_of`)."""
    records = {c: read_whole(path) for c, path in run_files(configs, profile).items()}
    missing = [config for config, record in records.items() if not record]
    return missing, seconds_of(missing, filter(None, records.values()))


def seconds_of(configs: Iterable[Config], records: Iterable[dict]) -> float | None:
    """Seconds that runs take, by those per step of finished runs; None without any.

    Finished runs of the same method count, or all where there are none.
    """
    parts = ((record["config"], record["seconds"]) for record in records)
    rows = [(config["method"], seconds / config["steps"]) for config, seconds in parts]
    paces = pd.DataFrame(rows, columns=["method", "pace"])
    if paces.empty:
        return None
    known, other = paces.groupby("method")["pace"].mean(), paces["pace"].mean()
    return float(sum(c.steps * known.get(c.method, other) for c in configs))


def trial(config: Config, steps: int = 10) -> list[dict]:
    """A record with the seconds that a run would take; none where it fails.

    It trains for so many `steps`, or for 20 seconds.
    """
    few, ends = vary(config, corpus_size=min(config.corpus_size, 4_000)), []
    with suppress(RuntimeError):
        how = (fit, few, None, default_device(), False)
        ends = step_ends(steps + 1, *how, most=20.0)
    if len(ends) < 2:
        return []
    seconds = config.steps * (ends[-1] - ends[0]) / (len(ends) - 1)
    return [{"seconds": seconds, "config": vars(config)}]


def step_ends(number: int, train: Callable, *arguments, most=inf) -> list[float]:
    """When each of the first steps of an optimiser in `train(*arguments)` ended.

    The training ends after so many steps, or `most` seconds behind the first.
    """
    ends: list[float] = []

    def note(*_) -> None:
        ends.append(now())
        if len(ends) == number or ends[-1] - ends[0] > most:
            raise InterruptedError

    hook = register_optimizer_step_post_hook(note)
    try:
        with suppress(InterruptedError):
            train(*arguments)
    finally:
        hook.remove()
    return ends


def now() -> float:
    """Seconds on the clock, once the GPU has done what it was given."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter()
