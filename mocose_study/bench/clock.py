"""Time taken from inside a loop that knows nothing of it."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import torch
from tqdm.auto import tqdm

WARM = 3  # steps that do not count: caches fill, memory is claimed


class Enough(Exception):
    """Ends a loop from inside, as soon as it has been timed for long enough."""


@dataclass
class Clock:
    """Notes the begin of each step, until `seconds` have passed since the last uncounted one."""

    seconds: float
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def tick(self) -> bool:
        """Begins a step; true once there is no need for more."""
        now = time.perf_counter()
        last = len(self.wall) > WARM and now - self.wall[WARM] >= self.seconds
        if torch.cuda.is_initialized() and (last or len(self.wall) == WARM):
            torch.cuda.synchronize()  # not at every step: the GPU works while Python goes ahead
            now = time.perf_counter()
        self.wall.append(now)
        self.cpu.append(time.process_time())
        return last

    def step(self) -> None:
        """As `tick`; raises Enough instead of returning true."""
        if self.tick():
            raise Enough

    def result(self) -> dict[str, float]:
        """Seconds a step on the wall's clock and of the processor, and how many steps it took."""
        steps = len(self.wall) - 1 - WARM
        if steps < 1:
            raise ValueError(f"{len(self.wall)} ticks are too few to time a step")
        return {
            "seconds": (self.wall[-1] - self.wall[WARM]) / steps,
            "cpu_seconds": (self.cpu[-1] - self.cpu[WARM]) / steps, "steps": steps,
        }  # fmt: skip


class Watched:
    """A table of token ids that begins a step of `clock` whenever a batch is taken from it."""

    def __init__(self, table, clock: Clock):
        self.table, self.clock = table, clock

    def __getitem__(self, rows):
        self.clock.step()
        return self.table[rows]

    def __getattr__(self, name):
        return getattr(self.table, name)


def timed(loop: Callable[[Clock], object], seconds: float) -> dict[str, float]:
    """What a step of `loop(clock)` takes; the loop ends by Enough or by returning."""
    clock = Clock(seconds)
    with suppress(Enough):
        loop(clock)
    return clock.result()


def in_turns(
    competitors: dict[str, Callable[[], dict]], repeats: int, bar: tqdm, seed: int = 0
) -> Iterable[dict]:
    """Rows of `repeats` rounds: in each one every competitor has a turn, in random order."""
    rng = Random(seed)
    for repeat in range(repeats):
        order = list(competitors)
        rng.shuffle(order)
        for name in order:
            bar.set_postfix_str(name, refresh=True)
            yield {"system": name, "repeat": repeat, **competitors[name]()}
            bar.update()
