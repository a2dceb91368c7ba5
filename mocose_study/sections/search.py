"""The search for the stage's settings, judged on STS-B dev.

SimCSE and MoCoSE have equally many candidates, each with three seeds that no section uses.
"""

from .grid import Grid, Point

SEEDS = (100, 101, 102)
SLOWER = {"lr": 1e-3, "head_lr": 1e-3}

GRIDS = {
    "search": Grid(
        question="Which learning rate, decay and head suit the stage?",
        points=(
            Point("MoCoSE", {}, tier=2),
            Point("MoCoSE, rate 0.001", SLOWER, tier=2),
            Point("MoCoSE, decay 0.95", {"ema_decay": 0.95}, tier=2),
            Point("SimCSE", {"method": "simcse"}, tier=2),
            Point("SimCSE, rate 0.001", {"method": "simcse", **SLOWER}, tier=2),
            Point("SimCSE, with its MLP", {"method": "simcse", "mlp": "training"}, tier=2),
        ),
        notebook="02_encoders", own_seeds=SEEDS,
    ),
}  # fmt: skip
