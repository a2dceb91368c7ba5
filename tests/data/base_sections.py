"""Two steps of some points of every section at `base`, for test_hub.py: prints what failed."""

import json
import sys
from pathlib import Path

from mocose_study.config import InputError, vary
from mocose_study.runs.run import make_run, prepare
from mocose_study.sections import GRIDS

SMALL = dict(
    steps=2,
    eval_every=2,
    warmup_steps=0,
    batch_size=8,
    corpus_size=64,
    max_length=16,
    eval_max_length=16,
    queue_size=16,
    queue_init=8,
    negatives_slice=(),
    resamples=0,
    precision="float32",
)


def failures(folder: Path) -> dict[str, str]:
    """The sentence that ended a section, by the section's name."""
    found = {}
    for name, grid in GRIDS.items():
        points = grid.points_at("base")
        for point in {p.label: p for p in (points[:1] + points[-1:])}.values():
            config = vary(grid.config(point, "base", 0), **SMALL)
            try:
                prepare([config])
                make_run(
                    config, folder / f"{name}-{point.label.replace('/', '_')}.json"
                )
            except InputError as sentence:
                found[f"{name}: {point.label}"] = str(sentence)
    return found


if __name__ == "__main__":
    print(json.dumps(failures(Path(sys.argv[1]))))
