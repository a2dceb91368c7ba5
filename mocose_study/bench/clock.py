"""Time taken from inside a loop that knows nothing of it."""

import time
from collections.abc import Callable, Iterator
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

    def step(self) -> None:
        """Begins a step. Raises Enough once no more steps are needed."""
        now = time.perf_counter()
        last = len(self.wall) > WARM and now - self.wall[WARM] >= self.seconds
        if torch.cuda.is_initialized() and (last or len(self.wall) == WARM):
            torch.cuda.synchronize()  # not at every step: the GPU works while Python goes ahead
            now = time.perf_counter()
        self.wall.append(now)
        self.cpu.append(time.process_time())
        if last:
            raise Enough

    def result(self) -> dict[str, float]:
        """Seconds a step on the wall's clock and of the processor, and how many steps it took."""
        steps = len(self.wall) - 1 - WARM
        if steps < 1:
            raise ValueError(f"{len(self.wall)} ticks are too few to time a step")
        seconds = (self.wall[-1] - self.wall[WARM]) / steps
        return {
            "seconds": seconds,
            "cpu_seconds": (self.cpu[-1] - self.cpu[WARM]) / steps,
            "steps": steps,
        }


def ticking(call: Callable, clock) -> Callable:
    """`call`, which begins a step of `clock` each time."""

    def ticked(*arguments):
        clock.step()
        return call(*arguments)

    return ticked


def timed(loop: Callable[[Clock], object], seconds: float) -> dict[str, float]:
    """What a step of `loop(clock)` takes; the loop ends by Enough or by returning."""
    clock = Clock(seconds)
    with suppress(Enough):
        loop(clock)
    return clock.result()


def clocked(work: Callable[[], dict | None]) -> dict[str, float]:
    """Seconds of `work()` on both clocks, with the numbers that it returns as `scores`."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    row = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return row | {"scores": found} if found else row


def in_turns(turns: dict[str, Callable[[], dict]], repeats: int, bar: tqdm) -> Iterator[dict]:
    """Rows of `repeats` rounds: in each one every system has a turn, in random order."""
    rng = Random(0)
    for repeat in range(repeats):
        order = list(turns)
        rng.shuffle(order)
        for name in order:
            bar.set_postfix_str(name, refresh=True)
            yield {"system": name, "repeat": repeat, **turns[name]()}
            bar.update()
