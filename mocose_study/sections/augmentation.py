"""Augmentations beside dropout: MoCoSE Table 5, Table 9, Figure 9."""

from .grid import (
    CONTROL,
    LAST,
    RELEVANT,
    Grid,
    Point,
    beats,
    best,
    harmed,
    level,
    own,
    sized,
    stated,
)

FULL = {"precision": "float32"}  # FGSM's step would be rounded away in bf16


def step(epsilon: str, tier: int = 2) -> Point:
    fields = {**FULL, "fgsm_epsilon": float(epsilon)}
    return Point(f"ε = {epsilon}", fields, paper=epsilon, tier=tier)


def text(kind: str, paper: str, tier: int = 2) -> Point:
    fields = {"text_augmentation": kind, "augmented_views": "target"}
    return Point(kind.replace("_", " "), fields, paper=f"{paper}, ", tier=tier)


GRIDS = {
    "augmentation": Grid(
        question="Which augmentations help beside dropout?",
        points=(
            Point("dropout only", {}, paper="none, "),
            Point("token cut-off 0.1", {"token_cutoff": 0.1}, paper="token_dropout, 0.1",
                  tier=2),
            Point("position shuffle", {"position_shuffle": True}, paper="position_shuffle, "),
            Point("FGSM", {**FULL, "fgsm_epsilon": 5e-9}, paper="fgsm, 5e-9", tier=2),
            Point("feature cut-off 0.01", {"feature_cutoff": 0.01}, paper="feature_dropout, 0.01",
                  tier=2),
            Point("feature cut-off 0.1", {"feature_cutoff": 0.1}, paper="feature_dropout, 0.1",
                  tier=2),
            text("typos", "typos"), text("synonym", "synonym"),
            Point("typos, 0.3", {"text_augmentation": "typos", "augmented_views": "target",
                                 "augmentation_rate": 0.3}, tier=2),  # the authors' tool's share
            text("insertion", "insertion"),  # what the authors' code did for "synonym"
            text("paraphrase", "paraphrase", tier=3),
            text("back_translation", "back_translation", tier=3),
            CONTROL,
        ),
        paper="mocose_table5", paper_by=("augmentation", "augmentation_rate"),
        notebook="06_augmentation", control=harmed("dropout only"),
        claims=(
            stated("mocose-augment-only-fgsm-helps",
                   best("dropout only", ["token cut-off 0.1", "position shuffle", "typos",
                                             "feature cut-off 0.01", "feature cut-off 0.1"])),
            stated("mocose-augment-shuffle-slight", beats("dropout only", "position shuffle"), LAST),
            *sized("mocose-augment-token-cutoff", "dropout only", "token cut-off 0.1", LAST),
            stated("mocose-augment-feature-cutoff-01",
                   beats("dropout only", "feature cut-off 0.1", margin=RELEVANT)),
            stated("mocose-augment-feature-cutoff-dose",
                   beats("feature cut-off 0.01", "feature cut-off 0.1")),
            *sized("mocose-augment-typos", "dropout only", "typos", LAST),
            *sized("mocose-augment-synonym", "dropout only", "synonym", LAST),
            *sized("mocose-augment-paraphrase", "dropout only", "paraphrase", LAST),
            stated("mocose-augment-back-translation",
                   beats("dropout only", "back translation", margin=RELEVANT)),
        ),
    ),
    "fgsm": Grid(
        question="Does the strength of FGSM matter?",
        points=(
            step("0"), step("1e-30"),  # ours: FGSM's random numbers, and a step that moves nothing
            step("1e-9"), step("5e-9"), step("1e-8"), step("5e-8"),
            step("1e-2"),  # ours: a step that must be felt
            CONTROL,
        ),
        paper="mocose_table9", paper_by=("fgsm_epsilon",), notebook="06_augmentation",
        control=harmed("ε = 0"),
        claims=(
            stated("mocose-augment-fgsm-helps", beats("ε = 5e-9", "ε = 0")),
            stated("mocose-fgsm-epsilon-best",
                   best("ε = 5e-9", ["ε = 0", "ε = 1e-9", "ε = 1e-8", "ε = 5e-8"])),
            stated("mocose-fgsm-epsilon-1e-9-harms", beats("ε = 0", "ε = 1e-9")),
            stated("mocose-fgsm-epsilon-1e-8-harms", beats("ε = 0", "ε = 1e-8")),
            own("fgsm-idle",
                  "A step of 5e-9 makes no relevant difference to none.",
                  level("ε = 5e-9", "ε = 0")),
            own("fgsm-idle-alone",
                  "With the same random numbers, a step of 5e-9 makes no relevant difference to one "
                  "of 1e-30, which moves nothing.",
                  level("ε = 5e-9", "ε = 1e-30")),
        ),
    ),
}  # fmt: skip
