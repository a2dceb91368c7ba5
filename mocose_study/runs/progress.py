"""How far runs are, how long they take, and how one is interrupted."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pandas as pd
from torch.optim.optimizer import register_optimizer_step_post_hook

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
    """A checkpoint that Ctrl-C writes, too."""

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
        """Within a training Ctrl-C lets a step end, and then writes the checkpoint.

        A second one, or one before the first step, ends it at once. Nothing changes
        where Ctrl-C means something else.
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
    parts = ((record["config"], record["seconds"]) for record in records)
    rows = [(config["method"], seconds / config["steps"]) for config, seconds in parts]
    paces = pd.DataFrame(rows, columns=["method", "pace"])
    if paces.empty:
        return None
    known, other = paces.groupby("method")["pace"].mean(), paces["pace"].mean()
    return float(sum(c.steps * known.get(c.method, other) for c in configs))
