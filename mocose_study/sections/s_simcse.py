"""S-SimCSE: dropout rates drawn anew in every forward pass (its Table 1), seven seeds as there."""

from .grid import HARM, Grid, Point, beats, stated
from .simcse import UNTRAINED

FIXED, SAMPLED, SENTENCE = "fixed rate", "sampled", "sampled, each sentence"
MORE = 1.0  # points, by the paper's abstract

GRIDS = {
    "s_simcse": Grid(
        question="Does it help to draw the dropout rate anew, for each sentence by itself?",
        points=(
            Point(FIXED, {"method": "simcse"}, paper="simcse, no, bert-base-uncased", tier=1),
            Point(
                SAMPLED,
                {"method": "s_simcse", "sentence_dropout": False},
                paper="s_simcse, no, bert-base-uncased",
            ),
            Point(SENTENCE, {"method": "s_simcse"}, paper="s_simcse, yes, bert-base-uncased"),
            UNTRAINED,
        ),
        paper="s_simcse_table1",
        notebook="22_s_simcse",
        seeds=7,
        control=beats(FIXED, UNTRAINED.label, HARM),
        claims=(
            stated("s-simcse-sampled-rate-base", beats(SAMPLED, FIXED)),
            stated("s-simcse-sentence-masks-base", beats(SENTENCE, SAMPLED)),
            stated("s-simcse-full-base", beats(SENTENCE, FIXED)),
            stated("s-simcse-full-base-more-than-one-point", beats(SENTENCE, FIXED, margin=MORE)),
        ),
    )
}
