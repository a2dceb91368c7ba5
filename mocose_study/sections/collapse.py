"""What keeps training from collapsing: MoCoSE Figures 5 and 6, appendix A.2."""

from itertools import product

from .grid import CONTROL, Grid, Point, beats, stated

BATCH = {"batch_negatives": True}
LOSS = 10.0  # points: a collapse; the paper's correlations fall towards zero
QUEUE = {True: {}, False: {"queue_size": 0, "queue_init": 0, "batch_negatives": True}}
PREDICTOR = {True: {}, False: {"predictor_layers": 0}}
EMA = {True: {}, False: {"ema_decay": 0.0}}
ALL, NONE, ALONE = "queue + predictor + EMA", "queue", "queue + predictor"


def parts(queue: bool, predictor: bool, ema: bool) -> Point:
    named = {"queue": queue, "predictor": predictor, "EMA": ema}
    label = " + ".join(name for name, there in named.items() if there) or "none of them"
    fields = {**QUEUE[queue], **PREDICTOR[predictor], **EMA[ema]}
    return Point(label, fields, tier=1 if label in (ALL, ALONE) else 2)


GRIDS = {
    "batch_negatives": Grid(
        question="Does MoCoSE need its moving average where the batch's keys are negatives, too?",
        points=(
            Point("queue alone", {}),
            CONTROL,
            Point("queue and batch", BATCH),
            Point("queue and batch, decay 0", {**BATCH, **CONTROL.fields}),
        ),
        notebook="12_collapse",
    ),
    "collapse": Grid(
        question="Queue, predictor, EMA: which of them is needed?",
        points=tuple(parts(*there) for there in product((True, False), repeat=3)),
        # the last step, since the best checkpoint of a run that collapses lies before its collapse
        common={"selection": "last"},
        notebook="12_collapse",
        control=beats(ALL, ALONE, LOSS),
        claims=(
            stated("mocose-collapse-symmetric", beats(ALL, NONE, margin=LOSS)),
            stated("mocose-collapse-predictor-oscillates", beats(ALL, ALONE, margin=LOSS)),
            stated(
                "mocose-collapse-predictor-and-ema-enough", beats("predictor + EMA", "none of them")
            ),
            stated(
                "mocose-collapse-queue-disperses", beats("predictor + EMA", ALL), "uniformity dev"
            ),
            stated("collapse-ema-without-predictor", beats("queue + EMA", ALL, margin=-LOSS)),
        ),
    ),
}
