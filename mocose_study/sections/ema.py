"""How fast the target branch follows: MoCoSE Table 3, Figure 8."""

from mocose_study.claims.verdicts import Claim
from mocose_study.sections.grid import RELEVANT, Grid, Point, beats, level, stated, unbeaten

DECAYS = (0.0, 0.5, 0.8, 0.85, 0.9, 0.95, 0.99)


def constant(decay: float) -> Point:
    fields = {"ema_decay": decay, "ema_schedule": "constant"}
    return Point(f"{decay:g}", fields, tier=1 if decay in (0.0, 0.5, 0.85, 0.99) else 2)


def cosine(start: float, end: float, horizon: int | None = None) -> Point:
    label = f"{start:g}→{end:g}" + (f" in {horizon:,}" if horizon else "")
    return Point(label, {
        "ema_decay": start, "ema_decay_end": end, "ema_schedule": "cosine", "ema_horizon": horizon,
    }, tier=2)  # fmt: skip


GRIDS = {
    "ema": Grid(
        question="How fast should the target branch follow the online branch?",
        points=(
            *map(constant, DECAYS),
            cosine(0.75, 0.95), cosine(0.85, 1.0), cosine(0.75, 1.0, horizon=15_000),
        ),
        paper="mocose_table3", paper_by=("ema_decay",), notebook="04_ema",
        claims=(
            stated("mocose-ema-best-085", unbeaten("0.85", [f"{d:g}" for d in DECAYS[1:]])),
            stated("mocose-ema-not-099", beats("0.85", "0.99")),
            stated("mocose-ema-needed", beats("0.85", "0", margin=RELEVANT)),
            Claim("ema-schedule", "MoCoSE section 4.1",
                  "Raising the decay from 0.75 to 0.95 makes no relevant difference to a constant 0.85.",
                  level("0.75→0.95", "0.85")),
        ),
    ),
}  # fmt: skip
