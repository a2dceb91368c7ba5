"""The search for training settings: one change at a time, judged on STS-B dev, with one seed.

Its seed is none of the sections' own, so that what it finds is tested on other random numbers.
"""

from dataclasses import replace

from mocose_study.sections.grid import Grid, Point
from mocose_study.sections.encoders import (
    GAINS,
    GAINS_MINI,
    OTHER_TEXT,
    UNTRAINED,
    WHITENED,
    beyond_whitening,
    gains,
)
from mocose_study.sections.room import FROM, LONGER, mocose, simcse

SEED = 100
RATES = (3e-5, 1e-4, 3e-4, 1e-3)
MINI_RATES = (2e-4, 5e-4, 1e-3)
BOTH = {"pooling": "first_last", "temperature": 0.025}
MINI_SIMCSE = {
    "temperature 0.025": {"temperature": 0.025},
    "temperature 0.0125": {"temperature": 0.0125},
    "first-last": {"pooling": "first_last"},
    "half the words": {"crop": 0.0, "word_deletion": 0.5},
    "both": BOTH,
}
MINI = {"encoder": "mini", "pooling": "mean"}
EQUAL = {"batch_lengths": "equal", "max_length": 32}
FASTER = {"lr": 4e-3, "head_lr": 4e-3, "warmup_steps": 10}  # for quick's half as many steps
NO_HEADS = {"projection_layers": 0, "predictor_layers": 0}


def rates(system: str, **fields) -> tuple[Point, ...]:
    return tuple(Point(f"{system}, rate {rate:g}", {"lr": rate, "head_lr": rate, **fields}, tier=2)
                 for rate in RATES)  # fmt: skip


def short(label: str, **changes) -> Point:
    """With the short queue that the first round found."""
    return mocose(label, **{"queue_size": 128, "queue_init": 32, **changes})


def wider(label: str, **changes) -> Point:
    """What the second round found, at the rate that suits the wider encoder."""
    return short(label, **{"crop": 0.5, "lr": 5e-4, "head_lr": 5e-4, **changes})


def twice(point: Point) -> Point:
    """The same for twice as long."""
    return replace(point, scale={name: 2 * factor for name, factor in point.scale.items()})


GRIDS = {
    "search": Grid(
        question="Which learning rates and poolings suit the encoder that knows sentences?",
        points=(
            *rates("MoCoSE"),
            *rates("SimCSE", method="simcse"),
            Point("MoCoSE, mean", {"pooling": "mean"}, tier=2),
            Point("SimCSE, mean", {"method": "simcse", "pooling": "mean"}, tier=2),
            Point("MoCoSE, temperature 0.1", {"temperature": 0.1}, tier=2),
            Point("MoCoSE, twice the steps", {}, tier=2, scale=LONGER),
        ),
        notebook="02_encoders", own_seeds=(SEED,),
    ),
    "search_room": Grid(
        question="Which settings suit the encoder that knows masked words only?",
        points=(
            mocose("MoCoSE"),
            mocose("MoCoSE, rate 0.001", lr=1e-3, head_lr=1e-3),
            mocose("MoCoSE, rate 0.004", lr=4e-3, head_lr=4e-3),
            mocose("MoCoSE, heads' rate 0.0005", head_lr=5e-4),
            mocose("MoCoSE, temperature 0.03", temperature=0.03),
            mocose("MoCoSE, temperature 0.1", temperature=0.1),
            mocose("MoCoSE, crop 0.4", crop=0.4),
            mocose("MoCoSE, crop 0.8", crop=0.8),
            mocose("MoCoSE, decay 0.95", ema_decay=0.95),
            mocose("MoCoSE, decay 0.995", ema_decay=0.995),
            short("MoCoSE, K 128"),
            mocose("MoCoSE, K 2048", queue_size=2048, queue_init=512),
            mocose("MoCoSE, queue alone", batch_negatives=False),
            mocose("MoCoSE, no dropout in heads", head_dropout=0.0),
            mocose("MoCoSE, projection only", predictor_layers=0),
            mocose("MoCoSE, predictor only", projection_layers=0),
            mocose("MoCoSE, no heads", **NO_HEADS),
            twice(mocose("MoCoSE, twice the steps")),
            twice(mocose("MoCoSE, no heads, twice the steps", **NO_HEADS)),
            short("MoCoSE, K 64", queue_size=64, queue_init=16),
            short("MoCoSE, K 128, decay 0.95", ema_decay=0.95),
            short("MoCoSE, K 128, decay 0.995", ema_decay=0.995),
            short("MoCoSE, K 128, rate 0.004", lr=4e-3, head_lr=4e-3),
            short("MoCoSE, K 128, crop 0.5", crop=0.5),
            short("MoCoSE, K 128, plain heads", heads="plain"),
            short("MoCoSE, K 128, one predictor layer", predictor_layers=1),
            short("MoCoSE, K 128, projection only", predictor_layers=0),
            short("MoCoSE, K 128, no heads", **NO_HEADS),
            twice(short("MoCoSE, K 128, twice the steps")),
            simcse("SimCSE"),
            simcse("SimCSE, rate 0.001", lr=1e-3),
            simcse("SimCSE, rate 0.004", lr=4e-3),
            simcse("SimCSE, temperature 0.1", temperature=0.1),
            simcse("SimCSE, crop 0.4", crop=0.4),
            simcse("SimCSE, crop 0.8", crop=0.8),
            twice(simcse("SimCSE, twice the steps")),
        ),
        common=FROM, notebook="02_encoders", own_seeds=(SEED,),
    ),
    "searched": Grid(
        question="Does what the search found hold with other seeds?",
        points=(
            *(Point(name, UNTRAINED[name]) for name in GAINS),
            Point(WHITENED, OTHER_TEXT[WHITENED], tier=2),
            replace(short("MoCoSE", crop=0.5), tier=1),  # the best on dev with the paper's heads
            replace(short("MoCoSE, twice the rate", crop=0.5, **FASTER), tier=1),
        ),
        common=FROM, notebook="02_encoders", seeds=10,
        claims=(*gains("searched", "MoCoSE"), beyond_whitening("searched", "MoCoSE")),
    ),
    "search_mini": Grid(
        question="Which settings suit the wider encoder?",
        points=(
            *(wider(f"MoCoSE, rate {rate:g}", lr=rate, head_lr=rate) for rate in MINI_RATES),
            wider("MoCoSE, K 512", queue_size=512, queue_init=128),
            wider("MoCoSE, crop 0.3", crop=0.3),
            wider("MoCoSE, temperature 0.1", temperature=0.1),
            wider("MoCoSE, temperature 0.025", temperature=0.025),
            wider("MoCoSE, temperature 0.0125", temperature=0.0125),
            wider("MoCoSE, first-last", pooling="first_last"),
            wider("MoCoSE, half the words", crop=0.0, word_deletion=0.5),
            wider("MoCoSE, both", **BOTH),
            wider("MoCoSE, both, equal lengths", **BOTH, **EQUAL),
            wider("MoCoSE, both, no heads, decay 0.95", ema_decay=0.95, **BOTH, **NO_HEADS),
            wider("MoCoSE, decay 0.95", ema_decay=0.95),
            wider("MoCoSE, equal lengths", **EQUAL),
            wider("MoCoSE, no heads", **NO_HEADS),
            twice(wider("MoCoSE, twice the steps")),
            *(simcse(f"SimCSE, rate {rate:g}", lr=rate, head_lr=rate) for rate in MINI_RATES),
            *(simcse(f"SimCSE, {name}", lr=5e-4, head_lr=5e-4, **changes)
              for name, changes in MINI_SIMCSE.items()),
        ),
        common=MINI, notebook="02_encoders", own_seeds=(SEED,),
    ),
    "searched_mini": Grid(
        question="Does what the search found for the wider encoder hold with other seeds?",
        points=(
            *(Point(name, UNTRAINED[name], tier=2) for name in GAINS_MINI),
            Point(WHITENED, OTHER_TEXT[WHITENED], tier=2),
            wider("MoCoSE", ema_decay=0.95, **BOTH, **NO_HEADS),  # the best on dev
            simcse("SimCSE", lr=5e-4, head_lr=5e-4, **BOTH),  # the best on dev
        ),
        common=MINI, notebook="02_encoders",
        claims=(
            *gains("searched_mini", "MoCoSE", GAINS_MINI),
            *gains("searched_mini", "SimCSE", GAINS_MINI),
            *(beyond_whitening("searched_mini", system) for system in ("MoCoSE", "SimCSE")),
        ),
    ),
}  # fmt: skip
