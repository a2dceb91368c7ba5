"""Which checkpoint is reported: by STS-B dev, or by the test sets, as the published code does."""

from mocose_study.claims.verdicts import Claim
from mocose_study.sections.grid import RELEVANT, Grid, Point, beats

GRIDS = {
    "selection": Grid(
        question="What is it worth to choose the checkpoint on the test sets?",
        points=(
            Point("dev split", {"selection": "dev"}),
            Point("test sets", {"selection": "test"}),
            Point("last step", {"selection": "last"}),
        ),
        notebook="11_selection_bias",
        claims=(
            Claim("selection-inflates", "published code",
                  "Choosing the checkpoint on the test sets raises the reported average.",
                  beats("test sets", "dev split")),
            Claim("selection-matters", "published code",
                  "It raises the average by a relevant margin.",
                  beats("test sets", "dev split", margin=RELEVANT)),
            Claim("selection-dev-helps", "MoCoSE section 4.1",
                  "Choosing on the dev split beats keeping the last step.",
                  beats("dev split", "last step")),
        ),
    ),
}  # fmt: skip
