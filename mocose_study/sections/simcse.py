"""Unsupervised SimCSE: its Tables 1, 2 and 3, the trajectories of its Figure 2, and our SimCSE
beside the training of sentence-transformers."""

from mocose_study.claims.rules import Best

from .grid import HARM, RELEVANT, Grid, Point, at, beats, best, level, stated

DEV = "sts_dev"  # what the paper's ablations are measured on
ALIGNMENT, UNIFORMITY = "alignment dev", "uniformity dev"  # of both, less is better
STEADY = 0.05  # squared distance; in the paper's Figure 2 alignment moves by 0.1 to 0.3
TABLE = {"notebook": "21_simcse"}
# training must show: SimCSE is far above the encoder that it started from
UNTRAINED = Point("control: untrained", {"method": "untrained"})

SIMCSE = {"method": "simcse"}
# What harms is measured at the last step: the best checkpoint of such a run is its first one.
# These sections are about what the views share, so that each view is the whole sentence.
LAST = {**SIMCSE, "selection": "last", "crop": 0.0}
TRACED = {"probe_every": 10}  # steps, as in Figure 2
ONE = 1e-3  # a share so small that one word is meant
DELETE_ONE = {"word_deletion": ONE, "augmented_views": "target"}
NONE, DELETE = "dropout only", "delete one word"
NO_DROPOUT, SAME_MASK = "no dropout", "same mask"


def text(label: str, paper: str, dropout: float = 0.1, **fields) -> Point:
    """A discrete augmentation of one view."""
    fields |= {"dropout": dropout, "augmented_views": "target"}
    return Point(label, fields, paper=f"{paper}, {dropout:g}")


def objective(label: str, paper: str, **fields) -> Point:
    return Point(label, fields, paper=paper)


def dropout(rate: float) -> Point:
    traced = rate in (0.0, 0.1)
    fields = {"dropout": rate} | (TRACED if traced else {})
    return Point(f"{rate:g}", fields, paper=f"{rate}, no")


CROPS = [text(f"crop {rate:.0%}", f"crop, {rate:g}", crop=rate) for rate in (0.1, 0.2, 0.3)]
DELETIONS = [
    text(f"delete {rate:.0%}", f"word_deletion, {rate:g}", word_deletion=rate)
    for rate in (0.1, 0.2, 0.3)
]
WORDS = [
    text("one synonym", "synonym, ", text_augmentation="synonym", augmentation_rate=ONE),
    text("MLM 15%", "mlm, 0.15", text_augmentation="synonym", augmentation_rate=0.15),
]
DISCRETE = [p.label for p in (*CROPS, *DELETIONS, *WORDS)] + [DELETE]
DROPOUTS = (0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.5)

GRIDS = {
    "simcse_dropout": Grid(
        question="Which dropout rate is best, and what if both views share one mask?",
        points=(
            *map(dropout, DROPOUTS),
            Point(SAME_MASK, {"same_mask": True, **TRACED}, paper="0.1, yes"),
            UNTRAINED,
        ),
        paper="simcse_table3",
        common=LAST,
        **TABLE,
        control=beats("0.1", UNTRAINED.label, HARM),
        claims=(
            stated("simcse-dropout-01-best", best("0.1", [f"{r:g}" for r in DROPOUTS]), DEV),
            stated("simcse-dropout-005-worse", beats("0.1", "0.05"), DEV),
            stated("simcse-dropout-05-harms", beats("0.1", "0.5", margin=HARM), DEV),
            stated("simcse-no-dropout-degrades", beats("0.1", "0", margin=HARM), DEV),
            stated("simcse-same-mask-collapses", beats("0.1", SAME_MASK, margin=HARM), DEV),
            stated("simcse-same-mask-below-none", beats("0", SAME_MASK, RELEVANT), DEV),
        ),
    ),
    "simcse_trajectory": Grid(
        question="How do alignment and uniformity move while SimCSE is trained?",
        points=(
            Point("untrained", {"method": "untrained"}),
            Point(NONE, {**LAST, **TRACED}),
            Point(NO_DROPOUT, {**LAST, **TRACED, "dropout": 0.0}),
            Point(SAME_MASK, {**LAST, **TRACED, "same_mask": True}),
            Point(DELETE, {**LAST, **TRACED, **DELETE_ONE}),
        ),
        **TABLE,
        control=beats(NONE, "untrained", HARM),
        claims=(
            stated(
                "simcse-trajectory-uniformity-improves",
                Best(at("untrained"), [at(x) for x in (NONE, NO_DROPOUT, SAME_MASK, DELETE)]),
                UNIFORMITY,
            ),
            stated("simcse-trajectory-alignment-degrades", beats(NO_DROPOUT, NONE), ALIGNMENT),
            stated("simcse-trajectory-alignment-same-mask", beats(SAME_MASK, NONE), ALIGNMENT),
            stated(
                "simcse-trajectory-alignment-steady", level(NONE, "untrained", STEADY), ALIGNMENT
            ),
            stated("simcse-trajectory-delete-word", beats(DELETE, NONE), UNIFORMITY),
            stated("simcse-trajectory-delete-word-alignment", beats(NONE, DELETE), ALIGNMENT),
        ),
    ),
    "simcse_reference": Grid(
        question="Does sentence-transformers train the same SimCSE to the same scores?",
        points=(
            Point("this study", SIMCSE),
            Point("sentence-transformers", {"method": "simcse_reference"}),
        ),
        # neither has a head to be trained first; theirs would take its cosines in bf16
        common={"mlp": "never", "selection": "last", "precision": "float32"},
        seeds=10,
        **TABLE,
        claims=(
            stated("simcse-as-sentence-transformers", level("this study", "sentence-transformers")),
        ),
    ),
    "simcse_augmentation": Grid(
        question="Can discrete augmentations take the place of dropout?",
        points=(
            Point(NONE, TRACED, paper="none, , 0.1"),
            text(DELETE, "delete_one_word, ", word_deletion=ONE, **TRACED),
            text(f"{DELETE}, no dropout", "delete_one_word, ", dropout=0.0, word_deletion=ONE),
            *CROPS,
            *DELETIONS,
            *WORDS,
            UNTRAINED,
        ),
        paper="simcse_table1",
        common=LAST,
        **TABLE,
        control=beats(NONE, UNTRAINED.label, HARM),
        claims=(
            stated(
                "simcse-no-discrete-augmentation-helps",
                Best(at(NONE), [at(label) for label in DISCRETE]),
                DEV,
            ),
            stated("simcse-delete-one-word", beats(NONE, DELETE), DEV),
            stated(
                "simcse-delete-one-word-without-dropout",
                beats(DELETE, f"{DELETE}, no dropout"),
                DEV,
            ),
            stated("simcse-synonym", beats(NONE, "one synonym"), DEV),
            stated("simcse-mlm-replacement", beats(NONE, "MLM 15%", margin=HARM), DEV),
            stated("simcse-crop-dose", beats("crop 10%", "crop 30%"), DEV),
            stated("simcse-word-deletion-dose", beats("delete 10%", "delete 30%"), DEV),
        ),
    ),
    "simcse_objective": Grid(
        question="Should a sentence predict itself, itself less a word, or the next one?",
        points=(
            objective("itself", "simcse, 1"),
            objective("itself, two encoders", "simcse, 2", two_encoders=True),
            objective(DELETE, "delete_one_word, 1", **DELETE_ONE),
            objective(
                f"{DELETE}, two encoders", "delete_one_word, 2", **DELETE_ONE, two_encoders=True
            ),
            objective("next sentence", "next_sentence, 1", positives="next_sentence"),
            objective(
                "next sentence, two encoders",
                "next_sentence, 2",
                two_encoders=True,
                positives="next_sentence",
            ),
            UNTRAINED,
        ),
        # all of them on running text, which the next sentence needs
        paper="simcse_table2",
        common={**LAST, "corpus": "wiki_documents"},
        **TABLE,
        control=beats("itself", UNTRAINED.label, HARM),
        claims=(
            stated("simcse-next-one-sentence", beats("itself", "next sentence", margin=HARM), DEV),
            stated("simcse-one-encoder", beats("itself", "itself, two encoders"), DEV),
            stated("simcse-one-encoder-delete-word", beats(DELETE, f"{DELETE}, two encoders"), DEV),
            stated(
                "simcse-two-encoders-next-sentence",
                beats("next sentence, two encoders", "next sentence"),
                DEV,
            ),
        ),
    ),
}
