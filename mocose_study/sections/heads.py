"""Projection and predictor: MoCoSE Table 4 (depth), Table 6a and Figure 10 (width)."""

from .grid import CONTROL, RELEVANT, Grid, Point, beats, best, harmed, level, sized, stated

FIRST = ((1, 2), (0, 2), (2, 2), (3, 2), (1, 1))
NONE, RANDOM = "0, 0", "1, 2, random start"


def depth(projection: int, predictor: int) -> Point:
    fields = {"projection_layers": projection, "predictor_layers": predictor}
    tier = 1 if (projection, predictor) in ((1, 2), (0, 0)) else 2
    return Point(f"{projection}, {predictor}", fields, tier=tier)


def random_start(style: str = "published") -> Point:
    label = RANDOM if style == "published" else f"{RANDOM}, {style}"
    return Point(label, {"head_init": "random", "heads": style})


def width(name: str, share: float) -> Point:
    """A predictor width as a share of the encoder's; the paper's encoder has 768."""
    return Point(name, {}, scale={"predictor_dim": share}, paper=f"{768 * share:.0f}")


GRIDS = {
    "heads": Grid(
        question="How many layers do projection and predictor need?",
        # the points that the claims name, then the rest of the table
        points=(
            *(depth(*pair) for pair in FIRST),
            depth(1, 3),
            *(depth(a, b) for a in (0, 2, 3) for b in (1, 3)),
            # ours: no heads, no predictor, heads that start at random, plain heads
            depth(0, 0),
            depth(1, 0),
            random_start(),
            random_start("plain"),
            CONTROL,
        ),
        paper="mocose_table4",
        notebook="05_heads",
        control=harmed("1, 2"),
        claims=(
            stated("mocose-heads-best-1-2", best("1, 2", ["1, 1", "1, 3", "0, 2", "2, 2"])),
            stated("mocose-heads-predictor-depth", level("1, 2", "1, 3")),
            *sized("mocose-heads-no-projection-harms", "1, 2", "0, 2"),
            *sized("mocose-heads-two-projections-harm", "1, 2", "2, 2"),
            *sized("mocose-heads-three-projections-break", "1, 2", "3, 2"),
            stated("heads-needed", beats("1, 2", NONE, RELEVANT)),
            stated("heads-predictor-needed", beats("1, 2", "1, 0", RELEVANT)),
            stated("heads-start", beats("1, 2", RANDOM, RELEVANT)),
        ),
    ),
    "predictor_dim": Grid(
        question="How wide must the heads' output be?",
        points=(
            width("1/16", 1 / 16),
            width("1/3", 1 / 3),
            width("2/3", 2 / 3),
            Point("1", {}, paper="768", tier=1),
            width("4/3", 4 / 3),
            width("8/3", 8 / 3),
            CONTROL,
        ),
        paper="mocose_table6a",
        notebook="05_heads",
        control=harmed("1"),
        claims=(
            stated("mocose-predictor-dim-small-harms", beats("1", "1/3", margin=RELEVANT)),
            stated("mocose-predictor-dim-512", beats("1", "2/3")),
            stated("mocose-predictor-dim-large-no-help", level("8/3", "1")),
            stated("mocose-embedding-dim-small-harms", beats("1", "1/16", margin=RELEVANT)),
            stated("mocose-embedding-dim-plateau", level("4/3", "1")),
        ),
    ),
}
