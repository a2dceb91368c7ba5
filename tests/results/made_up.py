"""Run files made up on the spot, and a grid that they belong to."""

from dataclasses import asdict

from mocose_study.claims.rules import Best, Better
from mocose_study.claims.verdicts import Claim
from mocose_study.runs.files import run_file, write_run
from mocose_study.sections.grid import Grid, Point

POINTS = ("0.5", "0.85", "0.7")
GRID = Grid(
    question="How fast?",
    paper="mocose_table3",
    points=tuple(Point(label, {"ema_decay": float(label)}, tier=1) for label in POINTS),
    claims=(
        Claim("best", "MoCoSE Table 3", "0.85 is best.", Best("0.85", ["0.5", "0.7"])),
        Claim("worse", "this study", "0.7 is ahead.", Better("0.7", "0.5")),
    ),
)
SCORES = {0.5: [60.0, 61.0, 62.0], 0.85: [63.0, 64.0, 65.0], 0.7: [50.0, 50.0, 50.0]}


def write(config, profile="tiny", score=60.0, **more) -> None:
    """One run file; `more` replaces or adds parts of the record."""
    history = [{"step": 2, "loss": 1.0, "score": score, "uniformity": -2.0}]
    record = {
        "config": asdict(config),
        "inputs": {},
        "metrics": {
            "sts_avg": score,
            "sts_last": score - 1,
            "STS12 test all": score - 10,
        },
        "spectrum": [1.0, 0.5],
        "progress": {
            "best_step": 2,
            "history": history,
            "staleness": [],
            "collapsed": None,
        },
        "seconds": 1.0,
        "stamp": {},
    }
    path = run_file(config, profile)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_run(path, {**record, **more})


def write_all(profile="tiny", seeds=3) -> None:
    """Runs of every point of `GRID`; seeds beyond the third repeat the first ones' scores."""
    for config in GRID.configs(profile, range(seeds)):
        write(config, profile, SCORES[config.ema_decay][config.seed % 3])
