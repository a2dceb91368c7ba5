"""The first look: untrained, SimCSE, MoCoSE; the two matched; and transfer tasks."""

from .grid import CONTROL, RELEVANT, Grid, Point, beats, harmed, level, own, sized, stated

UNTRAINED = {
    "untrained [CLS]": {"method": "untrained", "pooling": "cls"},
    "untrained mean": {"method": "untrained", "pooling": "mean"},
    "untrained first-last": {"method": "untrained", "pooling": "first_last"},
}
WHOLE = {"crop": 0.0}
START = (
    *(Point(label, fields) for label, fields in UNTRAINED.items()),
    Point("SimCSE", {"method": "simcse"}, paper="simcse, bert-base-uncased"),
    Point("MoCoSE", {}, paper="mocose, bert-base-uncased"),
    # a fixed horizon of 15,000 steps is 0.96 of the authors' run
    Point("MoCoSE as described", {"fgsm_epsilon": 0.0}, preset="as_described", tier=2),
    Point("MoCoSE as published", {"fgsm_epsilon": 0.0}, preset="as_published", tier=2,
          scale={"ema_horizon": 0.96}),
)  # fmt: skip
PAPER = {
    "untrained [CLS]": "cls, bert-base-uncased",
    "untrained mean": "mean, bert-base-uncased",
    "untrained first-last": "first_last, bert-base-uncased",
    "SimCSE": "simcse, bert-base-uncased",
    "MoCoSE": "mocose, bert-base-uncased",
}
LONGER = {"SimCSE": {"method": "simcse"}, "MoCoSE": {}, CONTROL.label: CONTROL.fields}
TRANSFER = tuple(
    Point(p.label, p.fields, paper=PAPER[p.label], tier=2) for p in START if p.label in PAPER
)

GRIDS = {
    "start": Grid(
        question="What does the encoder know before and after training?",
        points=(*START, CONTROL),
        paper="mocose_table1", paper_by=("system", "encoder"),
        notebook="00_start_here", seeds=10, control=harmed("MoCoSE"),
        claims=(
            *sized("mocose-beats-untrained", "MoCoSE", "untrained first-last"),
            stated("mocose-average-77", beats("MoCoSE", "SimCSE")),
        ),
    ),
    "matched": Grid(
        question="Is MoCoSE ahead of SimCSE with the same views, lengths, steps and search?",
        points=(
            START[3], START[4], CONTROL,
            Point("SimCSE, whole views", {"method": "simcse", **WHOLE}, tier=2),
            Point("MoCoSE, whole views", WHOLE, tier=2),
            Point("SimCSE, mixed lengths", {"method": "simcse", "batch_lengths": "mixed"}, tier=2),
            Point("MoCoSE, mixed lengths", {"batch_lengths": "mixed"}, tier=2),
        ),
        notebook="20_main_results", seeds=10, control=harmed("MoCoSE"),
        claims=(
            own("matched-cropped", "MoCoSE beats SimCSE where each view is a part of a sentence.",
                beats("MoCoSE", "SimCSE")),
            own("matched-whole", "MoCoSE beats SimCSE where both views are the whole sentence.",
                beats("MoCoSE, whole views", "SimCSE, whole views")),
            own("stage-simcse-crop", "SimCSE gains from views that are a part of the sentence.",
                beats("SimCSE", "SimCSE, whole views", RELEVANT)),
            own("stage-mocose-crop", "MoCoSE gains from views that are a part of the sentence.",
                beats("MoCoSE", "MoCoSE, whole views", RELEVANT)),
            own("stage-mocose-lengths", "MoCoSE gains from sentences of one length.",
                beats("MoCoSE", "MoCoSE, mixed lengths", RELEVANT)),
        ),
    ),
    "length": Grid(
        question="Is the stage's training long enough?",
        points=(
            START[3], START[4], CONTROL,
            *(Point(f"{label}, {factor} times the steps", fields, tier=2,
                    scale={"steps": factor, "eval_every": factor - 1})
              for factor in (3,) for label, fields in LONGER.items()),
        ),
        notebook="02_encoders", control=harmed("MoCoSE"),
    ),
    "transfer": Grid(
        question="Do frozen embeddings serve other tasks?",
        points=(*TRANSFER, CONTROL),
        common={"transfer": True}, notebook="03_transfer", control=harmed("MoCoSE"),
        paper="mocose_table2", paper_by=("system", "encoder"),
        claims=(
            stated("mocose-transfer-on-par-simcse", level("MoCoSE", "SimCSE"), "transfer_avg"),
            stated("mocose-transfer-beats-bert-mean", beats("MoCoSE", "untrained mean"),
                   "transfer_avg"),
            stated("mocose-transfer-trec-behind", beats("SimCSE", "MoCoSE"), "TREC test"),
        ),
    ),
}  # fmt: skip
