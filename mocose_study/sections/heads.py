"""Projection and predictor."""

from .section import Points, crossed, section


@section("05_heads", paper="mocose_table4", small=("1, 2", "3, 2"))
def heads(projection_layers=(0, 1, 2, 3), predictor_layers=(1, 2, 3)) -> Points:
    """How many layers do projection and predictor need? MoCoSE Table 4."""
    return crossed(
        projection_layers=projection_layers, predictor_layers=predictor_layers
    )


@section("05_heads", paper="mocose_table6a", small=())
def predictor_dim(widths=(256, 512, 768, 1024, 2048)) -> Points:
    """How wide must the heads' output be? MoCoSE Table 6.a, Figure 10.

    Widths are those of the paper's encoder, which has 768, and scale with ours.
    """
    return {f"{width}": {"predictor_dim": width} for width in widths}
