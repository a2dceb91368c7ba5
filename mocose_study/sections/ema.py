"""How fast the target branch follows: MoCoSE Table 3, Figure 8."""

from .grid import CONTROL, LAST, RELEVANT, Grid, Point, beats, best, harmed, level, stated

DECAYS = (0.5, 0.8, 0.85, 0.9, 0.95, 0.99)


def constant(decay: float) -> Point:
    fields = {"ema_decay": decay, "ema_schedule": "constant"}
    return Point(f"{decay:g}", fields, tier=1 if decay in (0.85, 0.99) else 2)


def cosine(start: float, end: float, horizon: int | None = None) -> Point:
    label = f"{start:g}→{end:g}" + (f" in {horizon:,}" if horizon else "")
    return Point(
        label,
        {
            "ema_decay": start,
            "ema_decay_end": end,
            "ema_schedule": "cosine",
            "ema_horizon": horizon,
        },
    )


GRIDS = {
    "ema": Grid(
        question="How fast should the target branch follow the online branch?",
        points=(
            CONTROL,
            *map(constant, DECAYS),
            constant(0.999),  # ours: nearly a fixed target
            cosine(0.75, 0.95),
            cosine(0.85, 1.0),
            cosine(0.75, 1.0, horizon=15_000),
        ),
        paper="mocose_table3",
        notebook="04_ema",
        control=harmed("0.85"),
        claims=(
            stated("mocose-ema-best-085", best("0.85", [f"{d:g}" for d in DECAYS])),
            stated("mocose-ema-not-099", beats("0.85", "0.99")),
            stated("mocose-ema-05-worse", beats("0.85", "0.5")),
            stated("mocose-ema-needed", beats("0.85", CONTROL.label, RELEVANT), LAST),
            stated("ema-too-slow", beats("0.85", "0.999", RELEVANT)),
            stated("mocose-ema-schedule", level("0.75→0.95", "0.85")),
        ),
    )
}
