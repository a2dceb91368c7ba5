"""Where a step's time goes, by torch's own profiler."""

from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import product
from multiprocessing import get_context

from torch.profiler import ProfilerActivity, profile

from mocose_study.config import Config
from mocose_study.runs.pool import start_worker
from mocose_study.bench.clock import WARM, Clock, Enough
from mocose_study.bench.material import config_of
from mocose_study.bench.sizes import Sizes
from mocose_study.bench.training import our_mocose

# Parts of the names of torch's operators; the first kind that fits counts.
KINDS = {
    "matrix products": ("mm", "linear", "matmul"),
    "dropout: random numbers": ("bernoulli", "random_"),
    "optimiser and clipping": ("adam", "vector_norm", "optimizer"),
    "moving average": ("lerp",),
    "embedding table": ("embedding", "index_select"),
    "copies and casts": ("copy", "_to_"),
    "GELU, LayerNorm, softmax": ("gelu", "layer_norm", "softmax"),
}
ELEMENTWISE, REST = "other elementwise operations", "Python and autograd"


def kind_of(operator: str) -> str:
    name = operator.lower()
    fits = (kind for kind, parts in KINDS.items() if any(part in name for part in parts))
    return next(fits, ELEMENTWISE)


class Watching(Clock):
    """Has `profiler` watch the steps that count, and not the first ones."""

    def __init__(self, seconds: float, profiler: profile):
        super().__init__(seconds)
        self.profiler = profiler

    def tick(self) -> bool:
        last = super().tick()
        if len(self.wall) == WARM + 1:
            self.profiler.start()
        return last


def breakdown(config: Config, seconds: float) -> dict[str, float]:
    """Milliseconds of a MoCoSE step by kind of operation; REST is what no operator took."""
    profiler = profile(activities=[ProfilerActivity.CPU])
    clock = Watching(seconds, profiler)
    with suppress(Enough):
        our_mocose(config, clock)
    profiler.stop()
    timed = clock.result()
    found = dict.fromkeys((*KINDS, ELEMENTWISE), 0.0)
    for event in profiler.key_averages():
        if event.key.startswith(("aten::", "Optimizer")):
            found[kind_of(event.key)] += event.self_cpu_time_total / 1e3 / timed["steps"]
    return found | {REST: max(0.0, 1e3 * timed["seconds"] - sum(found.values()))}


def measure(sizes: Sizes, precisions: tuple[str, ...], bar) -> list[dict]:
    """A row for every encoder, precision and kind.

    Each is measured in a new process: what another has left of memory slows all but the products.
    """
    rows, spawn = [], get_context("spawn")
    with ProcessPoolExecutor(1, spawn, start_worker, max_tasks_per_child=1) as alone:
        for label, precision in product(sizes.encoders, precisions):
            config = config_of(label, "full", precision, sizes.sentences)
            found = alone.submit(breakdown, config, sizes.seconds).result()
            rows += [{"encoder": label, "precision": precision, "kind": kind, "milliseconds": value}
                     for kind, value in found.items()]  # fmt: skip
            bar.update()
    return rows


def turns(sizes: Sizes, precisions: tuple[str, ...]) -> int:
    return len(sizes.encoders) * len(precisions)
