"""One benchmark in, one file out; what is done of an interrupted one is kept.

All that is compared is measured in turns, so that a busy machine slows all of it.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
from tqdm.auto import tqdm

from mocose_lib import InputError
from mocose_study.config import choose
from mocose_study.data.atomic import write_atomically
from mocose_study.data.files import study_folder
from mocose_study.runs.files import finite
from mocose_study.runs.measure import stamp
from mocose_study.systems.simcse_st import library

from . import clock, cost, parts, training
from .training import SIZES, Sizes

PARTS = "training breakdown evaluation cost grid memory pretraining start gpu".split()


def bench(
    profile: str = "quick",
    repeats: int | None = None,
    seconds: float | None = None,
    parts: tuple[str, ...] = (),
    authors: Path | None = None,
    bar: bool = True,
) -> Path:
    """Measures all parts, or the named ones, and returns the new file under data/runs/bench.

    It runs on one thread, as the runs of a grid do. bf16 is measured only where the machine
    multiplies faster in it, "gpu" only where there is one, and the authors' code only with
    `authors`, a checkout of it. Interrupted, a call with the same numbers goes on behind the last
    finished part. Raises InputError on an unknown profile or part, on numbers out of range, or
    when a peer is missing.
    """
    sizes = vars(choose(SIZES, profile, "size of the benchmark"))
    if repeats is not None and repeats < 1:
        raise InputError(f"repeats = {repeats} measures nothing; it must be 1 or more.")
    if seconds is not None and not 0 < seconds <= 3600:
        raise InputError(f"seconds = {seconds} is out of range; it must lie in (0, 3600].")
    for part in parts:
        choose(dict.fromkeys(PARTS), part, "part of the benchmark")
    has_gpu = torch.cuda.is_available()
    if "gpu" in parts and not has_gpu:
        raise InputError("part 'gpu' of the benchmark needs a GPU for torch; leave it out.")
    if authors and not (authors / "mocose.py").is_file():
        raise InputError(f"{authors} is no checkout of the authors' code: no mocose.py.")
    library()
    asked = {"repeats": repeats or sizes["repeats"], "seconds": seconds or sizes["seconds"]}
    wanted = parts or [part for part in PARTS if has_gpu or part != "gpu"]
    torch.set_num_threads(1)
    return _measured(profile, Sizes(**sizes | asked), wanted, authors, bar)


def _measured(profile: str, sizes: Sizes, wanted, checkout: Path | None, bar: bool) -> Path:
    unfinished = study_folder() / "data" / "checkpoints" / f"bench-{profile}.json"
    about = {"profile": profile, "sizes": vars(sizes)}
    record = json.loads(unfinished.read_text()) if unfinished.exists() else {}
    if not about.items() <= record.items():  # other numbers: nothing of it is taken over
        peaks = {p: clock.peak(p, sizes.seconds) for p in clock.DTYPES}
        record = {**about, "seconds": 0.0, "peaks": peaks}
    peaks = record["peaks"]
    precisions = ("float32", "bf16") if peaks["bf16"] > peaks["float32"] else ("float32",)
    with tqdm(desc="bench", unit=" turns", disable=not bar) as shown:
        for part, measure in _work(sizes, precisions, checkout, shown).items():
            if part in wanted and part not in record:
                started = time.monotonic()
                record[part] = measure()
                record["seconds"] += time.monotonic() - started
                _write(unfinished, record)
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = study_folder() / "data" / "runs" / "bench" / f"bench-{profile}-{now}.json"
    measured = {"parts": [part for part in PARTS if part in record]}
    record |= {"sizes": record["sizes"] | measured, "seconds": round(record["seconds"], 1)}
    record |= {"stamp": stamp("cuda" if "gpu" in record else "cpu")}
    _write(path, {"id": path.stem, **record})
    unfinished.unlink(missing_ok=True)
    return path


def _work(sizes: Sizes, precisions, checkout, shown: tqdm) -> dict[str, Callable]:
    """What measures every part."""
    long = min(sizes.repeats, sizes.long_repeats)
    trained = training.cases(sizes, precisions, checkout)
    return {
        "training": lambda: clock.rows(trained, sizes.repeats, shown),
        "breakdown": lambda: parts.breakdown(sizes, precisions),
        "evaluation": lambda: clock.rows(parts.evaluation(sizes), long, shown),
        "cost": lambda: cost.measure(sizes, precisions[-1], shown),
        "grid": lambda: clock.rows(parts.grid(sizes), long, shown),
        "memory": lambda: parts.apart(parts.resident_memory, sizes),
        "pretraining": lambda: clock.rows(training.pretraining(sizes, precisions), long, shown),
        "start": parts.start,
        "gpu": lambda: clock.rows(parts.gpu(sizes), long, shown),
    }


def _write(path: Path, record: dict) -> None:
    text = json.dumps(finite(record), indent=1, allow_nan=False) + "\n"
    write_atomically(path, lambda p: p.write_text(text))
