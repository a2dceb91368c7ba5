"""The search for training settings: one change at a time, judged on STS-B dev, with one seed.

Its seed is none of the sections' own, so that what it finds is tested on other random numbers.
"""

from dataclasses import replace

from ..grids import Grid, Point
from .encoders import gains
from .room import LONGER, MOCOSE, SIMCSE, untrained

SEED = 100
RATES = (3e-5, 1e-4, 3e-4, 1e-3)


def change(label: str, base: dict, scale: dict | None = None, **changes) -> Point:
    return Point(label, {**base, **changes}, tier=2, scale={**LONGER, **(scale or {})})


def rates(system: str, **fields) -> tuple[Point, ...]:
    return tuple(Point(f"{system}, rate {rate:g}", {"lr": rate, "head_lr": rate, **fields}, tier=2)
                 for rate in RATES)  # fmt: skip


TWICE = {"steps": 4, "eval_every": 4}
NO_HEADS = {"projection_layers": 0, "predictor_layers": 0}
SHORT = {**MOCOSE, "queue_size": 128, "queue_init": 32}  # what the first round found

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
        notebook="02_encoders", search_seeds=(SEED,),
    ),
    "search_room": Grid(
        question="Which settings suit the encoder that knows masked words only?",
        points=(
            change("MoCoSE", MOCOSE),
            change("MoCoSE, rate 0.001", MOCOSE, lr=1e-3, head_lr=1e-3),
            change("MoCoSE, rate 0.004", MOCOSE, lr=4e-3, head_lr=4e-3),
            change("MoCoSE, heads' rate 0.0005", MOCOSE, head_lr=5e-4),
            change("MoCoSE, temperature 0.03", MOCOSE, temperature=0.03),
            change("MoCoSE, temperature 0.1", MOCOSE, temperature=0.1),
            change("MoCoSE, crop 0.4", MOCOSE, crop=0.4),
            change("MoCoSE, crop 0.8", MOCOSE, crop=0.8),
            change("MoCoSE, decay 0.95", MOCOSE, ema_decay=0.95),
            change("MoCoSE, decay 0.995", MOCOSE, ema_decay=0.995),
            change("MoCoSE, K 128", SHORT),
            change("MoCoSE, K 2048", MOCOSE, queue_size=2048, queue_init=512),
            change("MoCoSE, queue alone", MOCOSE, batch_negatives=False),
            change("MoCoSE, no dropout in heads", MOCOSE, head_dropout=0.0),
            change("MoCoSE, projection only", MOCOSE, predictor_layers=0),
            change("MoCoSE, predictor only", MOCOSE, projection_layers=0),
            change("MoCoSE, no heads", MOCOSE, **NO_HEADS),
            change("MoCoSE, twice the steps", MOCOSE, TWICE),
            change("MoCoSE, no heads, twice the steps", MOCOSE, TWICE, **NO_HEADS),
            change("MoCoSE, K 64", SHORT, queue_size=64, queue_init=16),
            change("MoCoSE, K 128, decay 0.95", SHORT, ema_decay=0.95),
            change("MoCoSE, K 128, decay 0.995", SHORT, ema_decay=0.995),
            change("MoCoSE, K 128, rate 0.004", SHORT, lr=4e-3, head_lr=4e-3),
            change("MoCoSE, K 128, crop 0.5", SHORT, crop=0.5),
            change("MoCoSE, K 128, plain heads", SHORT, heads="plain"),
            change("MoCoSE, K 128, one predictor layer", SHORT, predictor_layers=1),
            change("MoCoSE, K 128, projection only", SHORT, predictor_layers=0),
            change("MoCoSE, K 128, no heads", SHORT, **NO_HEADS),
            change("MoCoSE, K 128, twice the steps", SHORT, TWICE),
            change("SimCSE", SIMCSE),
            change("SimCSE, rate 0.001", SIMCSE, lr=1e-3),
            change("SimCSE, rate 0.004", SIMCSE, lr=4e-3),
            change("SimCSE, temperature 0.1", SIMCSE, temperature=0.1),
            change("SimCSE, crop 0.4", SIMCSE, crop=0.4),
            change("SimCSE, crop 0.8", SIMCSE, crop=0.8),
            change("SimCSE, twice the steps", SIMCSE, TWICE),
        ),
        common={"encoder": "tiny-mlm", "pooling": "mean"}, notebook="02_encoders",
        search_seeds=(SEED,),
    ),
    "searched": Grid(
        question="Does what the search found hold with other seeds?",
        points=tuple(replace(point, tier=1) for point in (
            untrained("[CLS]", "cls"),
            untrained("mean", "mean"),
            untrained("first-last", "first_last"),
            change("MoCoSE", SHORT, crop=0.5),  # the best on dev that has the paper's heads
        )),
        common={"encoder": "tiny-mlm", "pooling": "mean"}, notebook="02_encoders", seeds=10,
        claims=(*gains("searched", "MoCoSE"),),
    ),
}  # fmt: skip
