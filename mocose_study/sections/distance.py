"""Maximum traceable distance 1/(1-η) + K/B: MoCoSE equation 4, Figures 2, 3, 4 and 13."""

from mocose_study.claims.verdicts import Claim
from mocose_study.sections.grid import RELEVANT, Grid, Point, at, beats, stated, unbeaten
from mocose_study.claims.rules import Best
from mocose_study.sections.batch import sized

DECAYS, QUEUES = (0.5, 0.85, 0.95, 0.99), (128, 512, 1024)
OPTIMUM = "η 0.85, K 512"  # 14.67


def crossed(decay: float, size: int) -> Point:
    fields = {"ema_decay": decay, "queue_size": size, "queue_init": size // 4}
    tier = 1 if size == 512 and decay in (0.5, 0.85, 0.99) else 2
    return Point(f"η {decay:g}, K {size}", fields, tier=tier)


CROSSED = tuple(crossed(decay, size) for size in QUEUES for decay in DECAYS)

GRIDS = {
    "distance": Grid(
        question="Is there a best maximum traceable distance?",
        points=(
            *CROSSED,
            sized(32, "B 32"), sized(128, "B 128"), sized(256, "B 256", tier=1),
            sized(256, "B 256, K 2048", queue_size=2048, queue_init=512),  # 14.67 again
        ),
        notebook="09_traceable_distance",
        claims=(
            stated("mocose-distance-optimum", unbeaten(OPTIMUM, [p.label for p in CROSSED])),
            stated("mocose-distance-explains-batch", beats("B 256, K 2048", "B 256")),
            Claim("distance-restores-batch", "MoCoSE Figure 3",
                  "At the best distance a batch of 256 does as well as one of 64.",
                  beats("B 256, K 2048", OPTIMUM, margin=-RELEVANT)),
            stated("mocose-distance-alignment-uniformity",
                   Best(at(OPTIMUM), [at(p.label) for p in CROSSED if p.label != OPTIMUM]),
                   "nearness_l2 dev"),
        ),
    ),
}  # fmt: skip
