"""How time is taken: from inside a training that knows nothing of it, in turns, in new processes.

A step is whatever lies between two steps of an optimiser. torch tells of each of them, so that a
loop of ours and one of another library are timed alike.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from operator import call
from random import Random

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.flop_counter import FlopCounterMode
from tqdm.auto import tqdm

from mocose_study.runs.pool import outcomes

WARM = 3  # steps before the one whose end starts the clock: caches fill, memory is claimed
DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}
LARGE = {  # m, k, n
    "cpu": ((2048, 512, 512), (2048, 1024, 1024), (4096, 256, 1024), (8192, 128, 128)),
    "cuda": ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 4096, 4096)),
}
Cases = Iterable[tuple[dict, dict[str, Callable[[], dict]]]]  # what a case is, and its turns


class Enough(Exception):
    """Ends a training from inside."""


def run(tick: Callable[[], None], train: Callable, *arguments) -> None:
    """`train(*arguments)`, with a tick after each step of an optimiser, until that raises Enough."""
    hook = register_optimizer_step_post_hook(lambda *_: tick())
    try:
        with suppress(Enough):
            train(*arguments)
    finally:
        hook.remove()


@dataclass
class Clock:
    """Notes the end of each step, until `seconds` have passed since the last uncounted one."""

    seconds: float
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def tick(self) -> None:
        """Ends a step. Raises Enough once no more steps are needed."""
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
        wall, cpu = ((ticks[-1] - ticks[WARM]) / steps for ticks in (self.wall, self.cpu))
        return {"seconds": wall, "cpu_seconds": cpu, "steps": steps}


def timed(seconds: float, train: Callable, *arguments) -> dict[str, float]:
    """What a step of `train(*arguments)` takes, from steps of `seconds` in all."""
    clock = Clock(seconds)
    run(clock.tick, train, *arguments)
    return clock.result()


def clocked(work: Callable, *arguments) -> dict:
    """Seconds of `work(*arguments)` on both clocks; what it returns, if anything, is `scores`."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work(*arguments)
    row = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return row | {"scores": found} if found else row


def rows(cases: Cases, repeats: int, bar: tqdm) -> list[dict]:
    """What every turn gives: in each of `repeats` rounds every system of a case has a turn.

    The order within a round is random, so that nothing always follows the same neighbour.
    """
    found = []
    for case, turns in cases:
        rng = Random(0)
        for repeat in range(repeats):
            for name in rng.sample(list(turns), len(turns)):
                bar.set_postfix_str(name, refresh=True)
                found.append({**case, "system": name, "repeat": repeat, **turns[name]()})
                bar.update()
    return found


def processes(number: int, work: Callable, *arguments) -> list:
    """What `work(*arguments)` gives in each of `number` new single-threaded processes."""
    found = []
    jobs = [partial(work, *arguments) for _ in range(number)]
    for _, result, error in outcomes(call, jobs, number):
        if error:
            raise error
        found.append(result)
    return found


def apart(work: Callable, *arguments):
    """What `work(*arguments)` gives in a process of its own."""
    return processes(1, work, *arguments)[0]


def flops(steps: int, train: Callable, *arguments) -> float:
    """Operations of a step's matrix products as torch counts them, mean over the first `steps`.

    A product of (m, k) with (k, n) has 2 m k n: a product and a sum for each triple.
    """
    ticks = count(1)

    def tick() -> None:
        if next(ticks) == steps:
            raise Enough

    with FlopCounterMode(display=False) as counter:
        run(tick, train, *arguments)
    return counter.get_total_flops() / steps


def peak(precision: str, seconds: float, device: str = "cpu") -> float:
    """Operations a second of the fastest of some large matrix products, best of many."""
    best, kind = 0.0, {"device": device, "dtype": DTYPES[precision]}
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for m, k, n in LARGE[device]:
        a, b = (torch.randn(shape, **kind) for shape in ((m, k), (k, n)))
        a @ b
        wait()
        until = time.perf_counter() + seconds / len(LARGE[device])
        while (start := time.perf_counter()) < until:
            a @ b
            wait()
            best = max(best, 2 * m * k * n / (time.perf_counter() - start))
    return best
