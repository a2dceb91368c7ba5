"""What makes the two views of a sentence differ."""

from mocose_study.config import choose

from .section import Points, section, short
from .systems import FGSM

_OF_THE_TARGET = {"augmented_views": "target"}  # as in the authors' code
# the share of words is nlpaug's default, and so theirs
_WORDS = _OF_THE_TARGET | {"augmentation_rate": 0.3}
AUGMENTATIONS = {
    "none": {"paper": "none, "},
    "FGSM": FGSM | {"paper": "fgsm, 5e-9"},
    "position shuffle": {"position_shuffle": True, "paper": "position_shuffle, "},
    "token cut-off 0.1": {"token_cutoff": 0.1, "paper": "token_dropout, 0.1"},
    "feature cut-off 0.01": {"feature_cutoff": 0.01, "paper": "feature_dropout, 0.01"},
    "feature cut-off 0.1": {"feature_cutoff": 0.1, "paper": "feature_dropout, 0.1"},
    "typos": _WORDS | {"text_augmentation": "typos", "paper": "typos, "},
    "synonym": _WORDS | {"text_augmentation": "synonym", "paper": "synonym, "},
    "paraphrase": _OF_THE_TARGET
    | {"text_augmentation": "paraphrase", "paper": "paraphrase, "},
    "back-translation": _OF_THE_TARGET
    | {"text_augmentation": "back_translation", "paper": "back_translation, "},
}


@section(
    "06_augmentation",
    paper="mocose_table5",
    small=("none", "position shuffle"),
    hub=("paraphrase", "back-translation"),
)
def augmentation(augmentations=tuple(AUGMENTATIONS)) -> Points:
    """Which augmentations help beside dropout? MoCoSE Table 5, Figure 9."""
    return {name: choose(AUGMENTATIONS, name, "augmentation") for name in augmentations}


@section("06_augmentation", paper="mocose_table9", small=("5e-09",))
def fgsm(epsilons=(0.0, 1e-9, 5e-9, 1e-8, 5e-8)) -> Points:
    """Does the strength of FGSM matter? MoCoSE Table 9.

    A step of 1e-30 moves nothing, and draws the random numbers of the others.
    """
    return {
        short(epsilon): {
            "fgsm_epsilon": epsilon or 1e-30,
            "precision": "float32",  # bf16 would round the step away
            "paper": f"{epsilon:g}".replace("e-0", "e-"),
        }
        for epsilon in epsilons
    }
