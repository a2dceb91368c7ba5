"""What a MoCoSE step costs as queue, batch, length and depth grow, and a formula that predicts it.

seconds = FLOPs of the matrix products / peak + fixed + a activations + b parameters. The first
term is the floor, measured apart. The other three numbers are fitted to all points together.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.optimize import nnls

from mocose_study.config import Config, vary
from mocose_study.systems.base import load_encoder

from . import floor
from .clock import in_turns, timed
from .material import Sizes, config_of, encoder_folder
from .training import our_mocose

ROWS = 600  # sentences


def points(sizes: Sizes, precision: str) -> Iterator[tuple[str, int, Config]]:
    """(what is varied, its value, the Config); one thing is varied at a time."""
    make = partial(config_of, "4x256", "full", precision, ROWS, queue_init=512)
    base = make()  # its queue is full from the start
    for queue in sizes.queues:
        yield "queue", queue, vary(base, queue_size=queue, queue_init=queue)
    for batch in sizes.batches:
        yield "batch", batch, vary(base, batch_size=batch)
    for length in sizes.lengths:
        yield "length", length, make(max_length=length)
    for depth in sizes.depths:
        yield "depth", depth, vary(base, encoder=encoder_folder(f"{depth}x256"))


def features(config: Config) -> dict[str, float]:
    """FLOPs of a step; activations: tokens x width x layers, and logits; trained parameters."""
    encoder = load_encoder(config, "cpu")
    settings = encoder.model.config
    tokens = config.batch_size * config.max_length
    logits = config.batch_size * config.queue_size
    return {
        "flops": floor.step_flops(config, encoder, config.max_length),
        "activations": tokens * settings.hidden_size * settings.num_hidden_layers + logits,
        "parameters": sum(p.numel() for p in encoder.parameters()),
    }


def fitted(rows: list[dict], peak: float) -> dict[str, float]:
    """The formula's three numbers, in seconds, by non-negative least squares of relative errors."""
    seconds = np.array([row["seconds"] for row in rows])
    rest = seconds - np.array([row["flops"] for row in rows]) / peak
    terms = np.array([[1.0, row["activations"], row["parameters"]] for row in rows])
    scale = terms.max(0)
    found, _ = nnls(terms / scale / seconds[:, None], rest / seconds)
    return dict(zip(("fixed", "activation", "parameter"), found / scale, strict=True))


def predicted(row: dict, peak: float, fit: dict[str, float]) -> float:
    """Seconds of a step by the formula."""
    growing = fit["activation"] * row["activations"] + fit["parameter"] * row["parameters"]
    return row["flops"] / peak + fit["fixed"] + growing


def measure(sizes: Sizes, precision: str, bar) -> dict:
    """Medians of the rounds at every point, with the peak."""
    rows = []
    for what, value, config in points(sizes, precision):
        turn = partial(timed, partial(our_mocose, config), sizes.seconds)
        found = [row["seconds"] for row in in_turns({f"{what} {value}": turn}, sizes.repeats, bar)]
        about = {"varied": what, "value": value, "seconds": float(np.median(found))}
        rows.append(about | features(config))
    return {"precision": precision, "peak": floor.peak(precision, sizes.seconds), "rows": rows}
