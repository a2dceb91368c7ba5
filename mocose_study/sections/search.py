"""The search for the stage's settings, judged on STS-B dev.

SimCSE and MoCoSE have equally many candidates, each with three seeds that no section uses.
"""

from .grid import Grid, Point

SEEDS = (100, 101, 102)
FASTER = {"lr": 2e-3, "head_lr": 2e-3, "eval_every": 100}
SLOWER = {"lr": 1e-3, "head_lr": 1e-3, "eval_every": 100}
BARE = {"method": "simcse", "mlp": "never"}

GRIDS = {
    "search": Grid(
        question="Which learning rate, decay and head suit the stage?",
        points=(
            Point("MoCoSE, rate 0.002", {**FASTER, "mlp": "never"}, tier=2),
            Point("MoCoSE, rate 0.001", {**SLOWER, "mlp": "never"}, tier=2),
            Point("MoCoSE, rate 0.002, decay 0.95", {**FASTER, "mlp": "never", "ema_decay": 0.95},
                  tier=2),
            Point("SimCSE, rate 0.002", {**BARE, **FASTER}, tier=2),
            Point("SimCSE, rate 0.001", {**BARE, **SLOWER}, tier=2),
            Point("SimCSE, rate 0.002, with its MLP", {**BARE, **FASTER, "mlp": "training"}, tier=2),
        ),
        common={"steps": 1_500, "batch_negatives": True}, notebook="02_encoders", own_seeds=SEEDS,
    ),
}  # fmt: skip
