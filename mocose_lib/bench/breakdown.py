"""Where a step's time goes, by torch's own profiler."""

from contextlib import suppress

import torch
from torch.profiler import ProfilerActivity, profile

from ..config import Config
from .clock import Clock, Enough
from .material import config_of
from .sizes import Sizes
from .training import our_mocose

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


def breakdown(config: Config, seconds: float) -> dict[str, float]:
    """Milliseconds of a MoCoSE step by kind of operation; REST is what no operator took."""
    clock = Clock(seconds)
    with profile(activities=[ProfilerActivity.CPU]) as profiler, suppress(Enough):
        our_mocose(config, clock)
    steps = len(clock.wall) - 1
    found = dict.fromkeys((*KINDS, ELEMENTWISE), 0.0)
    for event in profiler.key_averages():
        if event.key.startswith(("aten::", "Optimizer")):
            found[kind_of(event.key)] += event.self_cpu_time_total / 1e3 / steps
    whole = 1e3 * (clock.wall[-1] - clock.wall[0]) / steps
    return found | {REST: max(0.0, whole - sum(found.values()))}


def measure(sizes: Sizes, precisions: tuple[str, ...], bar) -> list[dict]:
    """A row for every encoder, precision and kind."""
    rows = []
    for label in sizes.encoders:
        for precision in precisions:
            torch.manual_seed(0)
            found = breakdown(config_of(label, "full", precision, sizes.sentences), sizes.seconds)
            rows += [{"encoder": label, "precision": precision, "kind": kind, "milliseconds": value}
                     for kind, value in found.items()]  # fmt: skip
            bar.update()
    return rows


def turns(sizes: Sizes, precisions: tuple[str, ...]) -> int:
    return len(sizes.encoders) * len(precisions)
