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


class Interruptible(Checkpoint):
    """A checkpoint that Ctrl-C writes behind the step in which it comes."""

    training = asked = False

    def due(self) -> bool:
        self.training = True
        return self.asked or super().due()

    def write(self, state: dict) -> None:
        super().write(state)
        if self.asked:
            raise KeyboardInterrupt

    def ask(self, *_) -> None:
        if self.asked or not self.training:
            raise KeyboardInterrupt
        self.asked = True

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """Within a training. A second Ctrl-C, or one before a step, ends it at once.

        Nothing changes where Ctrl-C means something else.
        """
        plain = signal.default_int_handler
        main = threading.current_thread() is threading.main_thread()
        usual = [n for n in INTERRUPTS if main and signal.getsignal(n) is plain]
        for number in usual:
            signal.signal(number, self.ask)
        try:
            yield
        finally:
            for number in usual:
                signal.signal(number, plain)


def seconds_of(configs: Iterable[Config], records: Iterable[dict]) -> float | None:
    """What runs will take, by the seconds a step of finished runs; None without any.

    Runs of the same method count, or all where there is none of it.
    """
    rows = (
        (r["config"]["method"], r["seconds"], r["config"]["steps"]) for r in records
    )
    table = pd.DataFrame(rows, columns=["method", "seconds", "steps"])
    if table.empty:
        return None
    pace = table["seconds"] / table["steps"]
    known, other = pace.groupby(table["method"]).mean(), pace.mean()
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
