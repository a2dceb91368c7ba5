"""Projection and predictor: MoCoSE Table 4 (depth), Table 6a and Figure 10 (width)."""

from mocose_study.sections.grid import RELEVANT, Grid, Point, beats, level, stated, unbeaten

FIRST = ((1, 2), (0, 2), (2, 2), (3, 2), (1, 1))
HARM = 5.0  # points: what "badly" means here; the paper's own losses are 10 and more


def depth(projection: int, predictor: int) -> Point:
    fields = {"projection_layers": projection, "predictor_layers": predictor}
    tier = 1 if (projection, predictor) in FIRST[:3] else 2
    return Point(f"{projection}, {predictor}", fields, tier=tier)


def width(name: str, share: float, tier: int = 2) -> Point:
    """A predictor width as a share of the encoder's; the paper's encoder has 768."""
    return Point(name, {}, scale={"predictor_dim": share}, tier=tier, paper=f"{768 * share:.0f}")


GRIDS = {
    "heads": Grid(
        question="How many layers do projection and predictor need?",
        # the points that the claims name, then the rest of the table
        points=(*(depth(*pair) for pair in FIRST), depth(1, 3),
                *(depth(a, b) for a in (0, 2, 3) for b in (1, 3))),
        paper="mocose_table4", paper_by=("projection_layers", "predictor_layers"),
        notebook="05_heads",
        claims=(
            stated("mocose-heads-best-1-2", unbeaten("1, 2", ["1, 1", "1, 3", "0, 2", "2, 2"])),
            stated("mocose-heads-predictor-depth", level("1, 2", "1, 3")),
            stated("mocose-heads-no-projection-harms", beats("1, 2", "0, 2", margin=HARM)),
            stated("mocose-heads-two-projections-harm", beats("1, 2", "2, 2", margin=HARM)),
            stated("mocose-heads-three-projections-break", beats("1, 2", "3, 2", margin=HARM)),
        ),
    ),
    "predictor_dim": Grid(
        question="How wide must the heads' output be?",
        points=(width("1/16", 1 / 16), width("1/3", 1 / 3), width("2/3", 2 / 3),
                Point("1", {}, paper="768"), width("4/3", 4 / 3), width("8/3", 8 / 3)),
        paper="mocose_table6a", paper_by=("predictor_dim",), notebook="05_heads",
        claims=(
            stated("mocose-predictor-dim-small-harms", beats("1", "1/3", margin=RELEVANT)),
            stated("mocose-predictor-dim-512", beats("1", "2/3")),
            stated("mocose-predictor-dim-large-no-help", level("8/3", "1")),
            stated("mocose-embedding-dim-small-harms", beats("1", "1/16", margin=RELEVANT)),
            stated("mocose-embedding-dim-plateau", level("4/3", "1")),
        ),
    ),
}  # fmt: skip
