"""What a MoCoSE step costs as queue, batch, length and depth grow, and a formula that predicts it.

seconds = FLOPs of the matrix products / peak + fixed + a activations + b parameters. The first term
is the floor, measured apart; the other three numbers are fitted to all points together.
"""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import nnls

from mocose_study.config import Config, vary
from mocose_study.systems.base import load_encoder
from mocose_study.bench import floor
from mocose_study.bench.clock import in_turns, timed
from mocose_study.bench.material import config_of, encoder_folder
from mocose_study.bench.sizes import Sizes
from mocose_study.bench.training import our_mocose

ROWS = 600  # sentences


def points(sizes: Sizes, precision: str) -> Iterator[tuple[str, int, Config]]:
    """(what is varied, its value, the Config); one thing is varied at a time."""
    base = config_of("4x256", "full", precision, ROWS, queue_init=512)  # full from the start
    for queue in sizes.queues:
        yield "queue", queue, vary(base, queue_size=queue, queue_init=queue)
    for batch in sizes.batches:
        yield "batch", batch, vary(base, batch_size=batch)
    for length in sizes.lengths:
        longer = dict(max_length=length, queue_init=base.queue_init)
        yield "length", length, config_of("4x256", "full", precision, ROWS, **longer)
    for depth in sizes.depths:
        yield "depth", depth, vary(base, encoder=encoder_folder(f"{depth}x256"))


def features(config: Config) -> dict[str, float]:
    """FLOPs of a step; activations: tokens x width x layers; parameters that are trained."""
    encoder = load_encoder(config, "cpu")
    settings = encoder.model.config
    tokens = config.batch_size * config.max_length
    return {
        "flops": floor.flops(floor.step_products(config, encoder, config.max_length)),
        "activations": tokens * settings.hidden_size * settings.num_hidden_layers,
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
    return (row["flops"] / peak + fit["fixed"] + fit["activation"] * row["activations"]
            + fit["parameter"] * row["parameters"])  # fmt: skip


def measure(sizes: Sizes, precision: str, bar) -> dict:
    """Medians of the rounds at every point, the peak, the fit, and the formula's prediction."""
    where = list(points(sizes, precision))
    turns = {
        f"{what} {value}": lambda config=config: timed(
            lambda clock: our_mocose(config, clock), sizes.seconds)
        for what, value, config in where
    } | {"peak": lambda: {"seconds": 1 / floor.peak(precision, sizes.seconds)}}  # fmt: skip
    found: dict[str, list[float]] = {}
    for row in in_turns(turns, sizes.repeats, bar):
        found.setdefault(row["system"], []).append(row["seconds"])
    peak = 1 / min(found.pop("peak"))
    rows = [
        {"varied": what, "value": value, "seconds": float(np.median(found[f"{what} {value}"])),
         **features(config)}
        for what, value, config in where
    ]  # fmt: skip
    fit = fitted(rows, peak)
    rows = [{**row, "predicted": predicted(row, peak, fit)} for row in rows]
    return {"precision": precision, "peak": peak, "fit": fit, "rows": rows}


def turns(sizes: Sizes) -> int:
    points = (sizes.queues, sizes.batches, sizes.lengths, sizes.depths)
    return sizes.repeats * (1 + sum(map(len, points)))
