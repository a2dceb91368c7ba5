"""How far runs are, how long they take, and how one is interrupted."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pandas as pd
from torch.optim.optimizer import register_optimizer_step_post_hook
from tqdm.auto import tqdm

from mocose_study.config import Config
from mocose_study.data.checkpoint import Checkpoint

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def after_each_step(call: Callable[[], object]) -> Iterator[None]:
    """Calls `call` after every step that an optimiser of this process makes."""
    hook = register_optimizer_step_post_hook(lambda *_: call())
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def interrupted_by_checkpoint(checkpoint: Checkpoint) -> Iterator[None]:
    """Within a training Ctrl-C lets a step end, and then writes a checkpoint.

    A second one, or one before the first step, ends it at once. Nothing changes where
    Ctrl-C means something else.
    """
    usual = [n for n in INTERRUPTS if signal.getsignal(n) is signal.default_int_handler]
    if threading.current_thread() is not threading.main_thread():
        usual = []
    due, write, asked, training = checkpoint.due, checkpoint.write, [], []

    def ask(*_) -> None:
        if asked or not training:
            raise KeyboardInterrupt
        asked.append(True)

    def due_now() -> bool:
        training.append(True)
        return bool(asked) or due()

    def write_and_end(state: dict) -> None:
        write(state)
        if asked:
            raise KeyboardInterrupt

    checkpoint.due, checkpoint.write = due_now, write_and_end
    for number in usual:
        signal.signal(number, ask)
    try:
        yield
    finally:
        checkpoint.due, checkpoint.write = due, write
        for number in usual:
            signal.signal(number, signal.default_int_handler)


def seconds_of(configs: Iterable[Config], records: Iterable[dict]) -> float | None:
    """What runs will take, by the seconds a step of finished runs; None without any.

    Runs of the same method count, or all where there is none of it.
    """
    rows = [
        (r["config"]["method"], r["seconds"] / r["config"]["steps"]) for r in records
    ]
    paces = pd.DataFrame(rows, columns=["method", "pace"])
    if paces.empty:
        return None
    known, other = paces.groupby("method")["pace"].mean(), paces["pace"].mean()
    return float(sum(c.steps * known.get(c.method, other) for c in configs))


class Bar(tqdm):
    """Steps of all runs of a grid, and the time left by the runs that are finished."""

    def __init__(self, name, todo: list[Config], records, workers: int, shown: bool):
        self.todo, self.records, self.skipped = todo, list(records), 0
        self.workers, self.runs = max(min(workers, len(todo)), 1), len(todo)
        steps = sum(config.steps for config in todo)
        form = "{l_bar}{bar}| {n_fmt}/{total_fmt} steps{postfix}"
        super().__init__(desc=name, total=steps, disable=not shown, bar_format=form)
        self.total, self.n = steps, 0
        self.count(0)

    def count(self, steps: int) -> None:
        """So many steps of an optimiser have been made in all."""
        self.counted, done = steps, min(steps + self.skipped, self.total)
        whole, left = seconds_of(self.todo, self.records), "see the first finished run"
        if whole is not None and self.total:
            seconds = whole * (1 - done / self.total) / self.workers
            left = f"{self.format_interval(seconds)} left"
        self.told = f"{self.runs} runs, {left}"
        self.set_postfix_str(self.told, refresh=not steps)
        self.update(done - self.n)
        self.n = done

    def finish(self, config: Config, steps: int, record: dict | None) -> None:
        """A run has ended after so many of these steps, or has failed."""
        self.runs, self.skipped = self.runs - 1, self.skipped + config.steps - steps
        self.records += [record] if record else []
