"""Augmentations beside dropout: MoCoSE Table 5, Table 9, Figure 9."""

from .grid import CONTROL, LAST, RELEVANT, Grid, Point, beats, best, harmed, level, sized, stated

SHUFFLE, CUTS = "position shuffle", ["feature cut-off 0.01", "feature cut-off 0.1"]
HARMLESS = ["token cut-off 0.1", SHUFFLE, "typos", *CUTS]
FULL = {"precision": "float32"}  # FGSM's step would be rounded away in bf16


def added(label: str, paper: str, tier: int = 2, **fields) -> Point:
    return Point(label, fields, paper=paper, tier=tier)


def step(epsilon: str) -> Point:
    return added(f"ε = {epsilon}", epsilon, **FULL, fgsm_epsilon=float(epsilon))


def text(kind: str, label: str = "", tier: int = 2, **fields) -> Point:
    fields |= {"text_augmentation": kind, "augmented_views": "target"}
    label = label or kind.replace("_", " ")
    return added(label, f"{kind}, {fields.get('augmentation_rate', '')}", tier, **fields)


GRIDS = {
    "augmentation": Grid(
        question="Which augmentations help beside dropout?",
        points=(
            added("dropout only", "none, ", tier=1),
            added("token cut-off 0.1", "token_dropout, 0.1", token_cutoff=0.1),
            added(SHUFFLE, "position_shuffle, ", tier=1, position_shuffle=True),
            added("FGSM", "fgsm, 5e-9", **FULL, fgsm_epsilon=5e-9),
            added("feature cut-off 0.01", "feature_dropout, 0.01", feature_cutoff=0.01),
            added("feature cut-off 0.1", "feature_dropout, 0.1", feature_cutoff=0.1),
            text("typos"),
            text("synonym"),
            text("typos", "typos, 0.3", augmentation_rate=0.3),  # the authors' tool's share
            text("insertion"),  # what the authors' code did for "synonym"
            text("paraphrase", tier=3),
            text("back_translation", tier=3),
            CONTROL,
        ),
        paper="mocose_table5",
        notebook="06_augmentation",
        control=harmed("dropout only"),
        claims=(
            stated("mocose-augment-only-fgsm-helps", best("dropout only", HARMLESS)),
            stated("mocose-augment-shuffle-slight", beats("dropout only", SHUFFLE), LAST),
            *sized("mocose-augment-token-cutoff", "dropout only", "token cut-off 0.1", LAST),
            stated("mocose-augment-feature-cutoff-01", beats("dropout only", CUTS[1], RELEVANT)),
            stated("mocose-augment-feature-cutoff-dose", beats(*CUTS)),
            *sized("mocose-augment-typos", "dropout only", "typos", LAST),
            *sized("mocose-augment-synonym", "dropout only", "synonym", LAST),
            *sized("mocose-augment-paraphrase", "dropout only", "paraphrase", LAST),
            stated(
                "mocose-augment-back-translation",
                beats("dropout only", "back translation", RELEVANT),
            ),
        ),
    ),
    "fgsm": Grid(
        question="Does the strength of FGSM matter?",
        points=(
            # ours: 1e-30 has FGSM's random numbers and moves nothing; 1e-2 must be felt
            *map(step, ("0", "1e-30", "1e-9", "5e-9", "1e-8", "5e-8", "1e-2")),
            CONTROL,
        ),
        paper="mocose_table9",
        notebook="06_augmentation",
        control=harmed("ε = 0"),
        claims=(
            stated("mocose-augment-fgsm-helps", beats("ε = 5e-9", "ε = 0")),
            stated(
                "mocose-fgsm-epsilon-best",
                best("ε = 5e-9", ["ε = 0", "ε = 1e-9", "ε = 1e-8", "ε = 5e-8"]),
            ),
            stated("mocose-fgsm-epsilon-1e-9-harms", beats("ε = 0", "ε = 1e-9")),
            stated("mocose-fgsm-epsilon-1e-8-harms", beats("ε = 0", "ε = 1e-8")),
            stated("fgsm-idle", level("ε = 5e-9", "ε = 0")),
            stated("fgsm-idle-alone", level("ε = 5e-9", "ε = 1e-30")),
        ),
    ),
}
