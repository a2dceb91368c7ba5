"""Which checkpoint is reported: by STS-B dev, or by the test sets, as the published code does."""

from .grid import CONTROL, RELEVANT, Grid, Point, beats, harmed, stated

GRIDS = {
    "selection": Grid(
        question="What is it worth to choose the checkpoint on the test sets?",
        points=(
            Point("dev split", {"selection": "dev"}, tier=1),
            Point("dev, pairs in no test set", {"selection": "blind"}),
            Point("test sets", {"selection": "test"}),
            Point("last step", {"selection": "last"}),
            CONTROL,
        ),
        notebook="11_selection_bias",
        control=harmed("dev split"),
        claims=(
            stated("selection-inflates", beats("test sets", "dev split")),
            stated("selection-matters", beats("test sets", "dev split", margin=RELEVANT)),
            stated("selection-blind-costs", beats("dev split", "dev, pairs in no test set")),
            stated("selection-dev-helps", beats("dev split", "last step")),
        ),
    )
}
