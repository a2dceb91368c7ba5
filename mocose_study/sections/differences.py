"""From the base to the authors' code, and to the paper's letter, a difference at a time."""

from collections.abc import Mapping, Sequence

from mocose_study.config import choose

from .section import Points, section

SHARED = {"shared_embeddings": True}  # else no gradient goes through the keys
TO_CODE = {
    "heads with dropout": {"head_dropout": 0.1},
    "η rises to 1": {"ema_decay": (0.75, 1.0), "ema_horizon": 0.96},
    "shared embeddings": SHARED,
    "keys not detached": SHARED | {"detach_keys": False},
    "target projection trained": SHARED
    | {"detach_keys": False, "target_projection_trained": True},
    "pooler without tanh": {"pooler_activation": "none"},
    "queue grows as published": {"queue_growth": "published"},
    "the optimiser of the time": {"optimizer": "transformers_adamw"},
    "last batch's FGSM gradient": {
        "fgsm_epsilon": 5e-9,
        "fgsm_gradient": "stale",
        "precision": "float32",  # bf16 would round the step away
    },
    "chosen on the test sets": {"selection": "test"},
}
TO_DESCRIBED = {
    "negatives from the queue alone": {"batch_negatives": False},
    "plain heads": {"heads": "plain"},
    "dot product": {"similarity": "dot", "temperature": 1.0},
}


def walk(differences: Mapping[str, dict], names: Sequence[str], sign: str) -> Points:
    """The base, each difference by itself, and all of them together."""
    chosen = {f"{sign} {n}": choose(differences, n, "difference") for n in names}
    together = {name: value for own in chosen.values() for name, value in own.items()}
    return {"base": {}, **chosen, "all of these": together}


@section("13_published_vs_described", small=("base", "all of these"))
def to_code(differences=tuple(TO_CODE)) -> Points:
    """What is each difference between the base and the authors' code worth?"""
    return walk(TO_CODE, differences, "+")


@section("13_published_vs_described", small=("base", "all of these"))
def to_described(differences=tuple(TO_DESCRIBED)) -> Points:
    """What is each difference between the base and the paper's letter worth?"""
    return walk(TO_DESCRIBED, differences, "+")
