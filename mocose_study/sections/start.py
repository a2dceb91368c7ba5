"""The first look: untrained, SimCSE, MoCoSE; and how frozen embeddings serve other tasks."""

from mocose_study.sections.grid import RELEVANT, Grid, Point, beats, level, stated

START = (
    Point("untrained [CLS]", {"method": "untrained", "pooling": "cls"}),
    Point("untrained mean", {"method": "untrained", "pooling": "mean"}),
    Point("untrained first-last", {"method": "untrained", "pooling": "first_last"},
          paper="first_last, bert-base-uncased"),
    Point("SimCSE", {"method": "simcse"}, paper="simcse, bert-base-uncased"),
    Point("MoCoSE", {}, paper="mocose, bert-base-uncased"),
    Point("MoCoSE as described", {}, preset="as_described"),
    Point("MoCoSE as published", {}, preset="as_published"),
)  # fmt: skip
PAPER = {
    "untrained [CLS]": "cls, bert-base-uncased", "untrained mean": "mean, bert-base-uncased",
    "SimCSE": "simcse, bert-base-uncased", "MoCoSE": "mocose, bert-base-uncased",
}  # fmt: skip

GRIDS = {
    "start": Grid(
        question="What does the encoder know before and after training?",
        points=START, paper="mocose_table1", paper_by=("system", "encoder"),
        notebook="00_start_here", seeds=10,
        claims=(
            stated("mocose-beats-untrained",
                   beats("MoCoSE", "untrained first-last", margin=RELEVANT)),
            stated("mocose-average-77", beats("MoCoSE", "SimCSE")),
        ),
    ),
    "transfer": Grid(
        question="Do frozen embeddings serve other tasks?",
        points=tuple(Point(p.label, p.fields, paper=PAPER[p.label],
                           tier=1 if p.label in ("untrained mean", "MoCoSE") else 2)
                     for p in START if p.label in PAPER),
        common={"transfer": True}, notebook="03_transfer",
        paper="mocose_table2", paper_by=("system", "encoder"),
        claims=(
            stated("mocose-transfer-on-par-simcse", level("MoCoSE", "SimCSE"), "transfer_avg"),
            stated("mocose-transfer-beats-bert-mean", beats("MoCoSE", "untrained mean"),
                   "transfer_avg"),
            stated("mocose-transfer-trec-behind", beats("SimCSE", "MoCoSE"), "TREC test"),
        ),
    ),
}  # fmt: skip
