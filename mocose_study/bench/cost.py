"""What a MoCoSE step costs as something grows, in time and memory, and a formula that predicts it.

seconds = FLOPs of the matrix products / peak + fixed + a activations + b parameters. The first
term is the floor, measured apart. The other three numbers are fitted to all points together.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import psutil
from scipy.optimize import nnls

from mocose_study.config import Config, vary
from mocose_study.systems.base import load_encoder

from .clock import Cases, apart, peak, rows, timed
from .training import Sizes, config_of, encoder_folder, fit, full_text, step_flops

ROWS = 600  # sentences
TERMS = ["fixed", "activations", "parameters"]  # each has a fitted number


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
    for width in sizes.widths:
        yield "width", width, vary(base, encoder=encoder_folder(f"4x{width}"))
    for number in sizes.corpora:
        text = full_text(number, base.max_length)
        yield "sentences", number, vary(base, corpus=str(text), corpus_size=number)


def features(config: Config) -> dict[str, float]:
    """FLOPs of a step, activations that grow with the batch, and trained parameters."""
    encoder = load_encoder(config, "cpu")
    width, layers = encoder.width, encoder.model.config.num_hidden_layers
    hidden = config.batch_size * config.max_length * width * layers
    return {
        "flops": step_flops(config),
        "activations": hidden + config.batch_size * config.queue_size,
        "parameters": sum(p.numel() for p in encoder.parameters()),
    }


def terms(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(fixed=1.0)[TERMS]


def fitted(table: pd.DataFrame, peak: float) -> pd.Series:
    """Seconds for one of each of TERMS, by non-negative least squares of relative errors."""
    scale = terms(table).max()
    shares = (terms(table) / scale).div(table["seconds"], axis=0)
    found, _ = nnls(shares, 1 - table["flops"] / peak / table["seconds"])
    return found / scale


def predicted(table: pd.DataFrame, peak: float, fit: pd.Series) -> pd.Series:
    """Seconds of a step by the formula."""
    return table["flops"] / peak + terms(table) @ fit


def cases(sizes: Sizes, precision: str) -> Cases:
    for what, value, config in points(sizes, precision):
        turn = partial(timed, sizes.seconds, fit, config)
        yield {"varied": what, "value": value, **features(config)}, {f"{what} {value}": turn}


def peak_memory(config: Config) -> float:
    """Megabytes that this process, a new one, holds after some steps; on Linux, at most held."""
    timed(0.0, fit, config)
    told = Path("/proc/self/status")  # getrusage knows the peak of the parent, too
    lines = told.read_text().splitlines() if told.exists() else []
    peaks = [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")]
    return peaks[0] if peaks else psutil.Process().memory_info().rss / 2**20


def measure(sizes: Sizes, precision: str, bar) -> dict:
    """Medians of the rounds at every point, and its memory; with the peak."""
    table = pd.DataFrame(rows(cases(sizes, precision), sizes.repeats, bar))
    by = ["varied", "value", "flops", "activations", "parameters"]
    found = table.groupby(by, sort=False)["seconds"].median().reset_index()
    found["megabytes"] = [apart(peak_memory, config) for *_, config in points(sizes, precision)]
    best = peak(precision, sizes.seconds)
    return {"precision": precision, "peak": best, "rows": found.to_dict("records")}
