"""Batch size at a fixed queue: MoCoSE Table 6b, Figure 3."""

from mocose_study.claims.verdicts import Claim
from mocose_study.sections.grid import RELEVANT, Grid, Point, beats, level, stated, unbeaten

SIZES = (32, 64, 128, 256)
TO_ONE = {"ema_schedule": "cosine", "ema_decay": 0.75, "ema_decay_end": 1.0}
HORIZON = 0.96  # 15,000 of the 15,625 steps that the paper's data give at a batch of 64


def sized(batch: int, label: str | None = None, tier: int = 2, horizon: float | None = None,
          **fields) -> Point:  # fmt: skip
    """A batch size with the steps in which it sees as many sentences as 64 in the profile's."""
    scale = {name: 64 / batch for name in ("steps", "eval_every") if batch != 64}
    scale |= {"ema_horizon": horizon} if horizon else {}
    return Point(label or str(batch), {"batch_size": batch, **fields}, scale=scale, tier=tier)


def fixed(batch: int) -> Point:
    return sized(batch, f"{batch}, fixed horizon", horizon=HORIZON, **TO_ONE)


def following(batch: int) -> Point:
    return sized(batch, f"{batch}, own horizon", horizon=HORIZON * 64 / batch, **TO_ONE)


GRIDS = {
    "batch": Grid(
        question="Which batch size is best beside a queue of 512, over as many sentences?",
        points=tuple(sized(size, tier=1 if size in (64, 256) else 2) for size in SIZES),
        paper="mocose_table6b", paper_by=("batch_size",), notebook="07_batch",
        claims=(
            stated("mocose-batch-64-best", unbeaten("64", map(str, SIZES))),
            stated("mocose-batch-large-no-help", beats("64", "256", margin=-RELEVANT)),
            stated("mocose-batch-32-harms", beats("64", "32", margin=RELEVANT)),
        ),
    ),
    "batch_steps": Grid(
        question="And over as many steps, or with an EMA schedule that follows the run?",
        points=(
            Point("64", {}),
            Point("128, as many steps", {"batch_size": 128}, tier=2),
            Point("256, as many steps", {"batch_size": 256}, tier=2),
            fixed(64), fixed(256), following(256),
        ),
        notebook="07_batch",
        claims=(
            Claim("batch-large-no-help-in-steps", "MoCoSE section 5.5",
                  "Over as many steps a batch of 256 brings no relevant gain, either.",
                  beats("64", "256, as many steps", margin=-RELEVANT)),
            Claim("batch-horizon-confounds", "published code",
                  "With a schedule that follows the run, a batch of 256 does better than with the "
                  "schedule of fixed length.",
                  beats("256, own horizon", "256, fixed horizon")),
        ),
    ),
    "batch_simcse": Grid(
        question="Does SimCSE gain from larger batches?",
        points=(
            Point("SimCSE 64", {"method": "simcse"}),
            sized(256, "SimCSE 256", method="simcse"),
        ),
        notebook="07_batch",
        claims=(
            stated("mocose-batch-simcse-no-gain", beats("SimCSE 64", "SimCSE 256", -RELEVANT)),
            stated("simcse-batch-insensitive", level("SimCSE 64", "SimCSE 256")),
        ),
    ),
}  # fmt: skip
