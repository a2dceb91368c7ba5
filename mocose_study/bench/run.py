"""One benchmark in, one file out; what is done of an interrupted one is kept."""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch
from tqdm.auto import tqdm

from mocose_study.config import InputError
from mocose_lib.files import write_atomically
from mocose_study.data.files import study_folder
from mocose_study.runs.files import finite
from mocose_study.runs.stamp import stamp
from mocose_study.bench import breakdown, cost, evaluation, floor, gpu, grid, memory, training
from mocose_study.bench.sizes import Sizes, sizes_of

log = logging.getLogger(__name__)


def bench(
    profile: str = "quick", repeats: int | None = None, seconds: float | None = None,
    parts: tuple[str, ...] = (), bar: bool = True,
) -> Path:  # fmt: skip
    """Measures everything (or `parts`) and returns the new file under data/runs/bench.

    On one thread, as the runs of a grid are; bf16 only where the machine multiplies faster in it,
    "gpu" only where there is one.
    Interrupted, a call with the same numbers goes on behind the last finished part. Raises
    InputError on an unknown profile or part, numbers out of range, or where a peer is missing.
    """
    sizes = _checked(profile, repeats, seconds, parts)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _measured(profile, sizes, bar)
    finally:
        torch.set_num_threads(threads)


def _checked(profile, repeats, seconds, parts) -> Sizes:
    from mocose_study.systems.simcse_st import library

    sizes = sizes_of(profile)
    if repeats is not None and repeats < 1:
        raise InputError(f"repeats = {repeats} measures nothing; it must be 1 or more.")
    if seconds is not None and not 0 < seconds <= 3600:
        raise InputError(f"seconds = {seconds} is out of range; it must lie in (0, 3600].")
    for part in parts:
        if part not in sizes.parts:
            known = ", ".join(sizes.parts)
            raise InputError(f"there is no part {part!r} of the benchmark; choose from {known}.")
    if "gpu" in parts and not torch.cuda.is_available():
        raise InputError("part 'gpu' of the benchmark needs a GPU that torch can use; leave it out.")
    library()
    possible = [part for part in sizes.parts if part != "gpu" or torch.cuda.is_available()]
    return replace(
        sizes, repeats=repeats or sizes.repeats, seconds=seconds or sizes.seconds,
        parts=tuple(parts or possible))  # fmt: skip


def _measured(profile: str, sizes: Sizes, bar: bool) -> Path:
    unfinished = study_folder() / "data" / "checkpoints" / f"bench-{profile}.json"
    about = {"profile": profile, "sizes": json.loads(json.dumps(asdict(sizes)))}
    del about["sizes"]["parts"]  # a part that was measured is kept, whatever was asked for then
    record = {**about, "seconds": 0.0}
    if unfinished.exists():
        before = json.loads(unfinished.read_text())
        if {name: before[name] for name in about} == about:
            record = before
    if "peaks" not in record:
        record["peaks"] = {p: floor.peak(p, sizes.seconds) for p in floor.DTYPES}
    peaks = record["peaks"]
    precisions = ("float32", "bf16") if peaks["bf16"] > peaks["float32"] else ("float32",)
    work = _work(sizes, precisions)
    total = sum(turns for turns, _ in work.values())
    with tqdm(total=total, desc="bench", disable=not bar) as shown:
        for part, (turns, measure) in work.items():
            if part in record:
                shown.update(turns)
                continue
            started = time.monotonic()
            record[part] = measure(shown)
            record["seconds"] += time.monotonic() - started
            _write(unfinished, record)
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = study_folder() / "data" / "runs" / "bench" / f"bench-{profile}-{now}.json"
    record["sizes"]["parts"] = [part for part in sizes_of(profile).parts if part in record]
    record = {"id": path.stem, **record, "seconds": round(record["seconds"], 1)}
    _write(path, record | {"stamp": stamp("cuda" if "gpu" in record else "cpu")})
    unfinished.unlink()
    return path


def _work(sizes: Sizes, precisions) -> dict[str, tuple[int, Callable]]:
    """Of every part that is asked for: how many turns it takes, and what measures it."""
    best = precisions[-1]
    found = {
        "training": (training.turns(sizes, precisions),
                     lambda bar: training.measure(sizes, precisions, bar)),
        "breakdown": (breakdown.turns(sizes, precisions),
                      lambda bar: breakdown.measure(sizes, precisions, bar)),
        "evaluation": (evaluation.turns(sizes), lambda bar: evaluation.measure(sizes, bar)),
        "cost": (cost.turns(sizes), lambda bar: cost.measure(sizes, best, bar)),
        "grid": (grid.turns(sizes), lambda bar: grid.measure(sizes, bar)),
        "memory": (1, lambda bar: memory.measure(sizes, bar)),
        "gpu": (gpu.turns(sizes), lambda bar: gpu.measure(sizes, bar)),
    }  # fmt: skip
    return {part: found[part] for part in sizes.parts}


def _write(path: Path, record: dict) -> None:
    text = json.dumps(finite(record), indent=1, allow_nan=False) + "\n"
    write_atomically(path, lambda p: p.write_text(text))
