"""The first look: untrained, SimCSE, MoCoSE; the two matched; and transfer tasks."""

from .grid import CONTROL, HARM, RELEVANT, Grid, Point, beats, harmed, level, sized, stated

UNTRAINED = {
    "untrained [CLS]": {"method": "untrained", "pooling": "cls"},
    "untrained mean": {"method": "untrained", "pooling": "mean"},
    "untrained first-last": {"method": "untrained", "pooling": "first_last"},
}
WHOLE = {"crop": 0.0}
START = (
    *(Point(label, fields, tier=1) for label, fields in UNTRAINED.items()),
    Point("SimCSE", {"method": "simcse"}, paper="simcse, bert-base-uncased", tier=1),
    Point("MoCoSE", {}, paper="mocose, bert-base-uncased", tier=1),
    # a fixed horizon of 15,000 steps is 0.96 of the authors' run
    Point("MoCoSE as described", {"fgsm_epsilon": 0.0}, preset="as_described"),
    Point(
        "MoCoSE as published",
        {"fgsm_epsilon": 0.0},
        preset="as_published",
        scale={"ema_horizon": 0.96},
    ),
)
PAPER = {
    "untrained [CLS]": "cls, bert-base-uncased",
    "untrained mean": "mean, bert-base-uncased",
    "untrained first-last": "first_last, bert-base-uncased",
    "SimCSE": "simcse, bert-base-uncased",
    "MoCoSE": "mocose, bert-base-uncased",
}
LONGER = {"SimCSE": {"method": "simcse"}, "MoCoSE": {}, CONTROL.label: CONTROL.fields}
# the stage's text and steps, and with them those between two evaluations, for one whole pass
FULL = {"steps": 28, "eval_every": 8}
WHOLE_CORPUS = {"corpus_size": 900_000}
TRANSFER = tuple(Point(p.label, p.fields, paper=PAPER[p.label]) for p in START if p.label in PAPER)

GRIDS = {
    "start": Grid(
        question="What does the encoder know before and after training?",
        points=(*START, CONTROL),
        paper="mocose_table1",
        notebook="00_start_here",
        seeds=10,
        control=harmed("MoCoSE"),
        claims=(
            *sized("mocose-beats-untrained", "MoCoSE", "untrained first-last"),
            stated("mocose-average-77", beats("MoCoSE", "SimCSE")),
        ),
    ),
    "matched": Grid(
        question="Is MoCoSE ahead of SimCSE with the same views, lengths, steps and search?",
        points=(
            START[3],
            START[4],
            CONTROL,
            Point("SimCSE, whole views", {"method": "simcse", **WHOLE}),
            Point("MoCoSE, whole views", WHOLE),
            Point("SimCSE, mixed lengths", {"method": "simcse", "batch_lengths": "mixed"}),
            Point("MoCoSE, mixed lengths", {"batch_lengths": "mixed"}),
        ),
        notebook="20_main_results",
        seeds=10,
        control=harmed("MoCoSE"),
        claims=(
            stated("matched-cropped", beats("MoCoSE", "SimCSE")),
            stated("matched-whole", beats("MoCoSE, whole views", "SimCSE, whole views")),
            stated("stage-simcse-crop", beats("SimCSE", "SimCSE, whole views", RELEVANT)),
            stated("stage-mocose-crop", beats("MoCoSE", "MoCoSE, whole views", RELEVANT)),
            stated("stage-mocose-lengths", beats("MoCoSE", "MoCoSE, mixed lengths", RELEVANT)),
        ),
    ),
    "length": Grid(
        question="Is the stage's training long enough?",
        points=(
            START[3],
            START[4],
            CONTROL,
            *(
                Point(
                    f"{label}, {factor} times the steps",
                    fields,
                    scale={"steps": factor, "eval_every": factor - 1},
                )
                for factor in (3,)
                for label, fields in LONGER.items()
            ),
        ),
        notebook="02_encoders",
        control=harmed("MoCoSE"),
    ),
    "full_length": Grid(
        question="What does training over the whole corpus, as long as the paper's, change?",
        points=(
            START[2],
            START[3],
            START[4],
            *(
                Point(f"{label}, full length", {**fields, **WHOLE_CORPUS}, scale=FULL)
                for label, fields in LONGER.items()
            ),
        ),
        notebook="20_main_results",
        control=beats("MoCoSE, full length", f"{CONTROL.label}, full length", HARM),
        claims=(
            stated("full-average", beats("MoCoSE, full length", "SimCSE, full length")),
            stated("full-beats-untrained", beats("MoCoSE, full length", "untrained first-last")),
            stated("full-mocose-gains", beats("MoCoSE, full length", "MoCoSE", RELEVANT)),
            stated("full-simcse-gains", beats("SimCSE, full length", "SimCSE", RELEVANT)),
        ),
    ),
    "transfer": Grid(
        question="Do frozen embeddings serve other tasks?",
        points=(*TRANSFER, CONTROL),
        common={"transfer": True},
        notebook="03_transfer",
        control=harmed("MoCoSE"),
        paper="mocose_table2",
        claims=(
            stated("mocose-transfer-on-par-simcse", level("MoCoSE", "SimCSE"), "transfer_avg"),
            stated(
                "mocose-transfer-beats-bert-mean", beats("MoCoSE", "untrained mean"), "transfer_avg"
            ),
            stated("mocose-transfer-trec-behind", beats("SimCSE", "MoCoSE"), "TREC test"),
        ),
    ),
}
