"""Which checkpoint is reported: by STS-B dev, or by the test sets, as the published code does."""

from .grid import CONTROL, RELEVANT, Grid, Point, beats, harmed, own

GRIDS = {
    "selection": Grid(
        question="What is it worth to choose the checkpoint on the test sets?",
        points=(
            Point("dev split", {"selection": "dev"}),
            Point("dev, pairs in no test set", {"selection": "blind"}, tier=2),
            Point("test sets", {"selection": "test"}, tier=2),
            Point("last step", {"selection": "last"}, tier=2),
            CONTROL,
        ),
        notebook="11_selection_bias", control=harmed("dev split"),
        claims=(
            own("selection-inflates",
                "Choosing the checkpoint on the test sets raises the reported average.",
                beats("test sets", "dev split")),
            own("selection-matters",
                "It raises the average by a relevant margin.",
                beats("test sets", "dev split", margin=RELEVANT)),
            own("selection-blind-costs",
                "Choosing on pairs that occur in no test set costs part of the average.",
                beats("dev split", "dev, pairs in no test set")),
            own("selection-dev-helps",
                "Choosing on the dev split beats keeping the last step.",
                beats("dev split", "last step")),
        ),
    ),
}  # fmt: skip
