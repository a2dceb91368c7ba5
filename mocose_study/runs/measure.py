"""Measures what a run has trained, and makes the record of its file."""

import logging
import platform
import time
from dataclasses import asdict
from importlib.metadata import version

import numpy as np
import torch

from mocose_lib.evaluation import evaluate
from mocose_lib.evaluation.sts import Encode, cached, similarities
from mocose_study.config import Config
from mocose_study.data import benchmarks
from mocose_study.data.git import TIME, code_at
from mocose_study.data.labelled import TRANSFER, transfer_tasks
from mocose_study.fast.processor import instruction_sets, processor
from mocose_study.systems import input_digests, probe
from mocose_study.systems.base import Fitted, sentences_of

from . import transfer

log = logging.getLogger(__name__)
PACKAGES = ("torch", "transformers", "datasets", "tokenizers", "numpy", "scipy")


def measured(
    config: Config, fitted: Fitted, device: str, training: float, codes: list[dict]
) -> dict:
    """The record of a trained system.

    `training`: the seconds of this process; `fitted.progress` also has those before an
    interruption. `codes`: the code of each part.
    """
    started = time.monotonic()
    encode, progress = cached(fitted.encode), fitted.progress
    metrics = scores(encode, config, fitted.of_task)
    metrics |= probe.measure(encode, config.benchmark)
    metrics["cosine_spread dev"] = cosine_spread(encode, config)
    if progress.history:
        metrics["sts_last"] = (last := progress.history[-1])["test"]
        if probe.is_collapsed(last):
            log.warning("training has collapsed: at its end %s", last)
    seconds = max(training, progress.seconds) + time.monotonic() - started
    return {
        "config": asdict(config),
        "inputs": input_digests(config),
        "metrics": {name: round(float(value), 4) for name, value in metrics.items()},
        "spectrum": probe.spectrum(encode, config.benchmark).round(4).tolist(),
        "progress": asdict(progress),
        "seconds": round(seconds, 2),
        "stamp": stamp(device, codes),
    }


def scores(encode: Encode, config: Config, of_task=None) -> dict[str, float]:
    """All numbers of the test tasks, and of the transfer tasks.

    "sts_avg" is the mean over the test tasks, all pairs of a task pooled. Beside the
    seven tasks stand pairs that are in no test set: "outside_avg". `of_task`: `Fitted`.
    """
    tables = benchmarks.test_tables(config.benchmark)
    test = by_task(of_task, tables) if of_task else evaluate(encode, tables)
    dev = evaluate(encode, benchmarks.dev_tables(config.benchmark, config.dev))
    numbers = {"sts_avg": test.pop("average"), "sts_dev": dev["average"], **test}
    if config.benchmark == "real" and (tables := benchmarks.outside_tables()):
        numbers["outside_avg"] = evaluate(encode, tables)["average"]
    if config.transfer:
        accuracy = transfer.evaluate(encode, transfer_tasks())
        for name, split in (("transfer_avg", "test"), ("transfer_dev_avg", "dev")):
            numbers[name] = float(np.mean([accuracy[f"{t} {split}"] for t in TRANSFER]))
        numbers |= accuracy
    return numbers


def by_task(of_task, tables: benchmarks.Tables) -> dict[str, float]:
    """As `evaluate`, with an encoder for each task."""
    parts = [evaluate(of_task(sentences_of([t])), {x: t}) for x, t in tables.items()]
    mean = {"average": float(np.mean([part["average"] for part in parts]))}
    return {name: x for part in parts for name, x in part.items()} | mean


def cosine_spread(encode: Encode, config: Config) -> float:
    """Standard deviation of the cosines of the dev pairs (SimCSE, Figure G.1)."""
    tables = benchmarks.dev_tables(config.benchmark, config.dev)
    return next(iter(similarities(encode, tables).values())).std()


def stamp(device: str, codes: list[dict]) -> dict:
    """Code of each part, packages, processor, instruction sets, threads, time (UTC)."""
    code = code_at() | ({"parts": codes} if len(codes) > 1 else {})
    return code | {
        "python": platform.python_version(),
        "device": processor(device),
        "instructions": instruction_sets(),
        "threads": torch.get_num_threads(),
        "packages": {package: version(package) for package in PACKAGES},
        "finished": time.strftime(TIME, time.gmtime()),
    }
