"""From the base to the authors' code, and to the paper's letter, step by step."""

from collections.abc import Mapping, Sequence

from mocose_study.config import choose

from .section import Points, section
from .systems import FGSM

SHARED = {"shared_embeddings": True}
UNDETACHED = SHARED | {"detach_keys": False}
TO_CODE = {
    "η rises to 1": {"ema_decay": (0.75, 1.0), "ema_horizon": 0.96},
    "shared embeddings": SHARED,
    "shared, keys not detached": UNDETACHED,
    "and the target's projection trained": UNDETACHED
    | {"target_projection_trained": True},
    "queue grows as published": {"queue_growth": "published"},
    "the optimiser of the time": {"optimizer": "transformers_adamw"},
    "last batch's FGSM gradient": FGSM | {"fgsm_gradient": "stale"},
    "chosen on the test sets": {"selection": "test"},
}
TO_DESCRIBED = {
    "the queue alone": {"batch_negatives": False},
    "plain heads": {"heads": "plain", "head_dropout": 0.0},
}
# Equation 3 prints a dot product, section 5.7 says the loss depends on the cosine. The
# preset takes the cosine.
DOT = {"similarity": "dot", "temperature": 1.0}


def walk(differences: Mapping[str, dict], names: Sequence[str], preset: str) -> Points:
    """The base, each difference by itself, and the preset that has them all."""
    points = {f"+ {n}": choose(differences, n, "difference") for n in names}
    return {"base": {}, **points, "all of these": FGSM | {"preset": preset}}


@section("13_published_vs_described", small=())
def to_code(differences=tuple(TO_CODE)) -> Points:
    """What is each difference between the base and the authors' code worth?"""
    return walk(TO_CODE, differences, "code")


@section("13_published_vs_described", small=())
def to_described(differences=tuple(TO_DESCRIBED)) -> Points:
    """What is each difference between the base and the paper's letter worth?

    And what if the loss compared by the dot product, as equation 3 is printed?
    """
    return walk(TO_DESCRIBED, differences, "described") | {"dot product": DOT}
