"""Run files made up on the spot."""

from dataclasses import asdict

from mocose_study.config import Config
from mocose_study.runs.files import run_file, write_run
from mocose_study.sections import SECTIONS

EMA = SECTIONS["ema"]
SCORES = {"0.5": 61.0, "0.85": 64.0, "0.99": 50.0}  # means over any three seeds
NOISE = (-1.0, 0.0, 1.0)  # of seeds 0, 1, 2, 3, ...


def write(config: Config, score=60.0, profile="tiny", **more) -> None:
    """One run file; `more` replaces or adds parts of the record."""
    steps = ({"step": i, "score": score - 2 + i, "test": score - i} for i in (0, 2))
    history = [{"loss": 1.0} | step for step in steps]
    metrics = {"sts_avg": score, "sts_last": score - 1, "STS12 test all": score - 10}
    record = {"config": asdict(config), "inputs": {}, "metrics": metrics}
    record |= {"progress": {"best_step": 2, "history": history}, "seconds": 1.0}
    record |= {"spectrum": [1.0, 0.5], "stamp": {"finished": "2026-01-02T00:00:00Z"}}
    path = run_file(config, profile)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_run(path, {**record, **more})


def write_section(section=EMA, scores=SCORES, seeds=range(3), noise=NOISE) -> None:
    """Runs of these points of a section."""
    for label, score in scores.items():
        for seed in seeds:
            config = section.config(label, "tiny", seed)
            write(config, score + noise[seed % len(noise)])
