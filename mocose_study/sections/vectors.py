"""How the vectors of the systems lie, and what they serve for."""

from .section import Points, section
from .systems import BERT, points_of


@section("10_geometry", small=("untrained [CLS]", "SimCSE", "MoCoSE"))
def geometry(
    systems=(
        "untrained [CLS]",
        "untrained first-last",
        "whitening",
        "flow",
        "SimCSE",
        "SimCSE supervised",
        "MoCoSE",
        "decay 0",
    ),
) -> Points:
    """How are the vectors spread? MoCoSE Figures 4, 7; SimCSE Figures 3, F.1, G.1."""
    return points_of(systems)


@section("03_transfer", paper="mocose_table2", small=())  # its tasks need the data
def transfer(
    systems=("untrained [CLS]", "untrained mean", "IS-BERT", "SimCSE", "MoCoSE"),
) -> Points:
    """Do the vectors serve other tasks, too? MoCoSE Table 2; SimCSE Table E.1."""
    named = {"untrained [CLS]": "cls", "untrained mean": "mean"}
    points = points_of(systems, "at_pace")
    for label in named.keys() & points.keys():
        points[label] |= {"paper": f"{named[label]}, {BERT}"}
    return {label: fields | {"transfer": True} for label, fields in points.items()}
