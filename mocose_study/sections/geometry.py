"""The shape of the embeddings: MoCoSE Figures 4 and 7, SimCSE Figures 3 and F.1."""

from .grid import CONTROL, Grid, beats, harmed, stated
from .start import START

RANK = "effective_rank dev"

GRIDS = {
    "geometry": Grid(
        question="Does MoCoSE spread embeddings over more directions?",
        points=(*START, CONTROL),
        notebook="10_geometry",
        control=harmed("MoCoSE"),
        claims=(
            stated("mocose-singular-values-flatter-bert", beats("MoCoSE", "untrained [CLS]"), RANK),
            stated("mocose-singular-values-flatter-simcse", beats("MoCoSE", "SimCSE"), RANK),
            stated(
                "simcse-spectrum-steepest-untrained", beats("SimCSE", "untrained first-last"), RANK
            ),
            stated("simcse-map-simcse", beats("untrained first-last", "SimCSE"), "uniformity dev"),
        ),
    )
}
