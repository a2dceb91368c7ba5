"""The floor of a step: its matrix products at the speed of the machine's best matrix product."""

import time
from collections.abc import Callable

import torch
from torch.utils.flop_counter import FlopCounterMode

from .clock import Enough, run

DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}
LARGE = {  # m, k, n
    "cpu": ((2048, 512, 512), (2048, 1024, 1024), (4096, 256, 1024), (8192, 128, 128)),
    "cuda": ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 4096, 4096)),
}


def flops(steps: int, train: Callable, *arguments) -> float:
    """Operations of a step's matrix products as torch counts them, mean over the first `steps`.

    A product of (m, k) with (k, n) has 2 m k n: a product and a sum for each triple.
    """
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if done == steps:
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
