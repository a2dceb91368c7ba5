"""Maximum traceable distance 1/(1-η) + K/B: MoCoSE equation 4, Figures 2, 3, 4 and 13."""

from mocose_study.claims.rules import Best

from .batch import of_size
from .grid import CONTROL, RELEVANT, Grid, Point, at, beats, best, harmed, stated

DECAYS, QUEUES = (0.5, 0.85, 0.95, 0.99), (128, 512, 1024)
OPTIMUM, RESTORED = "η 0.85, K 512", "B 256, K 2048"  # 14.67 both


def crossed(decay: float, size: int) -> Point:
    fields = {"ema_decay": decay, "queue_size": size, "queue_init": size // 4}
    return Point(f"η {decay:g}, K {size}", fields)


CROSSED = tuple(crossed(decay, size) for size in QUEUES for decay in DECAYS)

GRIDS = {
    "distance": Grid(
        question="Is there a best maximum traceable distance?",
        points=(
            *CROSSED,
            # Figure 3: the same for other batch sizes
            *(
                of_size(batch, f"η {decay:g}, B {batch}", ema_decay=decay)
                for batch in (32, 128, 256)
                for decay in DECAYS
            ),
            of_size(256, RESTORED, queue_size=2048, queue_init=512),  # 14.67 again
            CONTROL,
        ),
        notebook="09_traceable_distance",
        control=harmed(OPTIMUM),
        claims=(
            stated("mocose-distance-optimum", best(OPTIMUM, [p.label for p in CROSSED])),
            stated("mocose-distance-explains-batch", beats(RESTORED, "η 0.85, B 256")),
            stated("distance-restores-batch", beats(RESTORED, OPTIMUM, margin=-RELEVANT)),
            stated(
                "mocose-distance-alignment-uniformity",
                Best(at(OPTIMUM), [at(p.label) for p in CROSSED if p.label != OPTIMUM]),
                "nearness_l2 dev",
            ),
        ),
    )
}
