"""Batch size at a fixed queue: MoCoSE Table 6b, Figure 3."""

from .grid import CONTROL, RELEVANT, Grid, Point, beats, best, harmed, level, sized, stated

SIZES = (32, 64, 128, 256)
TO_ONE = {"ema_schedule": "cosine", "ema_decay": 0.75, "ema_decay_end": 1.0}
QUEUE = {"queue_size": 512, "queue_init": 128}  # the paper's, beside every batch size
HORIZON = 0.96  # 15,000 of the 15,625 steps that the paper's data give at a batch of 64


def of_size(
    batch: int, label: str | None = None, tier: int = 2, horizon: float | None = None, **fields
) -> Point:
    """A batch size with the steps in which it sees as many sentences as 64 in the profile's."""
    scale = {name: 64 / batch for name in ("steps", "eval_every") if batch != 64}
    scale |= {"ema_horizon": horizon} if horizon else {}
    fields = {"batch_size": batch, **QUEUE, **fields}
    return Point(label or str(batch), fields, scale=scale, tier=tier)


def fixed(batch: int) -> Point:
    return of_size(batch, f"{batch}, fixed horizon", horizon=HORIZON, **TO_ONE)


def following(batch: int) -> Point:
    return of_size(batch, f"{batch}, own horizon", horizon=HORIZON * 64 / batch, **TO_ONE)


GRIDS = {
    "batch": Grid(
        question="Which batch size is best beside a queue of 512, over as many sentences?",
        points=(*(of_size(size, tier=1 if size == 256 else 2) for size in SIZES), CONTROL),
        paper="mocose_table6b",
        notebook="07_batch",
        control=harmed("64"),
        claims=(
            stated("mocose-batch-64-best", best("64", map(str, SIZES))),
            stated("mocose-batch-large-no-help", beats("64", "256", margin=-RELEVANT)),
            *sized("mocose-batch-32-harms", "64", "32"),
        ),
    ),
    "batch_steps": Grid(
        question="And over as many steps, or with an EMA schedule that follows the run?",
        points=(
            Point("64", QUEUE),
            Point("128, as many steps", {"batch_size": 128, **QUEUE}),
            Point("256, as many steps", {"batch_size": 256, **QUEUE}),
            fixed(64),
            fixed(256),
            following(256),
            CONTROL,
        ),
        notebook="07_batch",
        control=harmed("64"),
        claims=(
            stated(
                "batch-large-no-help-in-steps", beats("64", "256, as many steps", margin=-RELEVANT)
            ),
            stated("batch-horizon-confounds", beats("256, own horizon", "256, fixed horizon")),
        ),
    ),
    "batch_simcse": Grid(
        question="Does SimCSE gain from larger batches?",
        points=(
            Point("SimCSE 64", {"method": "simcse"}),
            Point(
                "SimCSE 256",
                {"method": "simcse", "batch_size": 256},
                scale={"steps": 0.25, "eval_every": 0.25},
            ),
        ),
        notebook="07_batch",
        claims=(
            stated("mocose-batch-simcse-no-gain", beats("SimCSE 64", "SimCSE 256", -RELEVANT)),
            stated("simcse-batch-insensitive", level("SimCSE 64", "SimCSE 256")),
        ),
    ),
}
