"""How the vectors of the systems lie, and what they serve for."""

from mocose_study.config import choose

from .section import Points, section
from .systems import BERT, FIRST_LAST, OTHER_TEXT, UNTRAINED, points_of

FLOW, WHITENING = {"method": "flow"}, {"method": "whitening"}
NLI = OTHER_TEXT | {"corpus": "nli", "corpus_size": 17_640}  # all of its texts
PROCESSED = {
    "untrained first-last": UNTRAINED | FIRST_LAST | {"paper": "first_last, "},
    "flow, NLI": FLOW | NLI | {"paper": "flow, nli"},
    "flow, Wikipedia": FLOW | OTHER_TEXT,
    "flow, test sentences": FLOW | FIRST_LAST | {"paper": "flow, target"},
    "whitening, NLI": WHITENING | NLI | {"paper": "whitening, nli"},
    "whitening, Wikipedia": WHITENING | OTHER_TEXT,
    "whitening, each task": WHITENING | FIRST_LAST | {"paper": "whitening, target"},
}


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


def processed(systems) -> Points:
    return {name: choose(PROCESSED, name, "system") for name in systems}


@section("23_evaluation", paper="simcse_tableC1", small=())
def postprocessing(systems=tuple(PROCESSED)) -> Points:
    """On which text should flow and whitening be fitted? SimCSE Table C.1."""
    return processed(systems)


@section("23_evaluation", paper="simcse_tableB3", small=())
def aggregation(
    systems=tuple(PROCESSED), trained=("SimCSE", "SimCSE supervised")
) -> Points:
    """Do systems change places with the way in which subsets are pooled?

    SimCSE Tables B.2 and B.3.
    """
    points = dict(processed(systems))
    for label, fields in points_of(trained).items():
        points[label] = fields | {"paper": f"{fields.get('method', label)}, "}
    return points
