"""What each difference between the paper's description and the authors' code is worth."""

from dataclasses import replace

from .grid import HARM, Grid, Point, beats, level, stated

PLAIN = {"fgsm_epsilon": 0.0}  # its step doubles the cost; the last two points are about it
SHARED = {"shared_embeddings": True}
ATTACHED = {**SHARED, "detach_keys": False}
BROKEN = "control: decay 0, as described"
# what a point differs from in one respect, where that is not the description itself
AGAINST = {
    "shared, keys not detached": "shared embeddings",
    "target projection trained": "shared, keys not detached",
    "FGSM, last batch's gradient": "FGSM, this batch's gradient",
}


def published(label: str, **fields) -> Point:
    """The description, but for what the published code does in this one respect."""
    return Point(label, {**PLAIN, **fields}, preset="as_described")


GRIDS = {
    "published": Grid(
        question="What is each difference between paper and published code worth?",
        points=(
            published("as described"),
            Point("all of it", PLAIN, preset="as_published", scale={"ema_horizon": 0.96}),
            published("batch negatives too", batch_negatives=True),
            published("cosine, not dot product", similarity="cosine"),
            published("LayerNorm heads with dropout", heads="published", head_dropout=0.1),
            replace(published("decay 0.75→1", ema_decay_end=1.0), scale={"ema_horizon": 0.96}),
            published("EMA before the forward pass", ema_moment="before_forward"),
            published("shared embeddings", **SHARED),
            published("shared, keys not detached", **ATTACHED),
            published("target projection trained", **ATTACHED, target_projection_trained=True),
            published("queue filled as published", queue_growth="published"),
            published("AdamW, not Adam", optimizer="adamw"),
            published("checkpoint by the test sets", selection="test"),
            Point("FGSM, this batch's gradient", {}, preset="as_described"),
            Point("FGSM, last batch's gradient", {"fgsm_gradient": "stale"}, preset="as_described"),
            published(BROKEN, ema_decay=0.0, ema_schedule="constant"),
        ),
        notebook="13_published_vs_described",
        control=beats("as described", BROKEN, HARM),
        claims=(
            stated("published-equals-described", level("all of it", "as described")),
            stated(
                "published-fgsm-gradient",
                level("FGSM, this batch's gradient", "FGSM, last batch's gradient"),
            ),
        ),
    )
}
