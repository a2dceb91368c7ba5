"""What training adds to an encoder that masked words alone have taught, and so has room to learn.

The settings were found on STS-B dev with seed 0: rates of learning and of cropping, lengths, decay.
"""

from mocose_study.claims.verdicts import Claim
from mocose_study.sections.grid import RELEVANT, Grid, Point, beats
from mocose_study.sections.encoders import GAINS, OTHER_TEXT, TEXTS, UNTRAINED, gains

BREAKS = 5.0  # points
WHITENED = "whitened mean (Wikipedia)"
FROM = {"encoder": "tiny-mlm", "pooling": "mean"}
LONGER = {"steps": 2, "eval_every": 2}
CROPPED = {"crop": 0.6, "augmented_views": "both"}
FAST = {"lr": 2e-3, "head_lr": 2e-3, "warmup_steps": 20}
SIMCSE = {"method": "simcse", "mlp": "never", "batch_lengths": "equal", **FAST, **CROPPED}
MOCOSE = {"batch_negatives": True, "ema_decay": 0.99, "batch_lengths": "one", "max_length": 24,
          **FAST, **CROPPED}  # fmt: skip


def simcse(label: str, **changes) -> Point:
    return Point(label, {**SIMCSE, **changes}, tier=2, scale=LONGER)


def mocose(label: str, **changes) -> Point:
    return Point(label, {**MOCOSE, **changes}, tier=2, scale=LONGER)


GRIDS = {
    "room": Grid(
        question="What does training add where pre-training has left room?",
        points=(
            *(Point(name, UNTRAINED[name], tier=2) for name in (*GAINS, "whitened mean")),
            simcse("SimCSE"),
            simcse("SimCSE, whole views", crop=0.0),
            simcse("SimCSE, mixed lengths", batch_lengths="mixed"),
            mocose("MoCoSE"),
            mocose("MoCoSE, whole views", crop=0.0),
            mocose("MoCoSE, equal lengths", batch_lengths="equal", max_length=32),
            mocose("MoCoSE, decay 0.85", ema_decay=0.85),
            mocose("MoCoSE, decay 0", ema_decay=0.0),
            mocose("MoCoSE, no heads", projection_layers=0, predictor_layers=0),
            Point(WHITENED, OTHER_TEXT[WHITENED], tier=2),
            simcse("SimCSE, whitened", whitened_on=TEXTS),
            mocose("MoCoSE, whitened", whitened_on=TEXTS),
        ),
        common=FROM, notebook="02_encoders",
        claims=(
            *gains("room", "MoCoSE"),
            *gains("room", "SimCSE"),
            *(Claim(f"room-{system.lower()}-crop", "this study",
                    f"{system} gains from views that share a part of the sentence only.",
                    beats(system, f"{system}, whole views", margin=RELEVANT))
              for system in ("MoCoSE", "SimCSE")),
            Claim("room-mocose-lengths", "this study",
                  "MoCoSE gains when the whole queue has sentences of one length.",
                  beats("MoCoSE", "MoCoSE, equal lengths", margin=RELEVANT)),
            Claim("room-simcse-lengths", "this study", "SimCSE gains from batches of one length.",
                  beats("SimCSE", "SimCSE, mixed lengths", margin=RELEVANT)),
            Claim("room-decay-0", "this study", "Without a moving average MoCoSE breaks down.",
                  beats("MoCoSE", "MoCoSE, decay 0", margin=BREAKS)),
            Claim("room-decay-085", "this study", "A decay of 0.99 beats 0.85.",
                  beats("MoCoSE", "MoCoSE, decay 0.85")),
            Claim("room-heads", "this study", "MoCoSE needs its heads.",
                  beats("MoCoSE", "MoCoSE, no heads", margin=RELEVANT)),
            Claim("room-whitening", "this study", "Whitening alone beats MoCoSE.",
                  beats("whitened mean", "MoCoSE", margin=RELEVANT)),
            *(Claim(f"room-{system.lower()}-whitened", "this study",
                    f"{system} teaches more than whitening: it leaves better vectors to whiten.",
                    beats(f"{system}, whitened", WHITENED, margin=RELEVANT))
              for system in ("MoCoSE", "SimCSE")),
        ),
    ),
}  # fmt: skip
