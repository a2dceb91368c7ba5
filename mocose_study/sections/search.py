"""The search for the stage's settings, judged on STS-B dev.

SimCSE and MoCoSE have equally many candidates, each with three seeds that no section uses.
"""

from .grid import Grid, Point

SEEDS = (100, 101, 102)
RATES = (5e-4, 1e-3, 2e-3)
SYSTEMS = {
    "MoCoSE": {},
    "MoCoSE without heads": {"projection_layers": 0, "predictor_layers": 0},
    "SimCSE": {"method": "simcse"},
    "SimCSE without its MLP": {"method": "simcse", "mlp": "never"},
}

GRIDS = {
    "search": Grid(
        question="Which learning rate suits the stage, and do heads cost anything there?",
        points=tuple(
            Point(f"{name}, rate {rate:g}", {**fields, "lr": rate, "head_lr": rate})
            for name, fields in SYSTEMS.items()
            for rate in RATES
        ),
        notebook="02_encoders",
        own_seeds=SEEDS,
    )
}
