"""The numbers of MoCoSE: one frozen dataclass, each number with its range beside it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from pydantic import TypeAdapter, ValidationError

Slice = tuple[int, int]
adapter = cache(partial(TypeAdapter, config={"strict": True, "allow_inf_nan": False}))


class InputError(Exception):
    """Bad input. The text is one sentence: what is wrong, and what would be right."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of it: the sentence, and not the way to it."""
        return [f"InputError: {self}"]


def Range(low: float, high: float | None = None) -> Interval:
    """The closed interval of values that a field accepts."""
    return Interval(ge=low, le=high)


Count = Annotated[int, Range(0, 10**9)]
Positive = Annotated[int, Range(1, 10**9)]
Share = Annotated[float, Range(0, 0.9)]  # of tokens, features, activations taken away
Rate = Annotated[float, Range(0, 0.1)]  # learning rates; larger ones diverge


@dataclass(frozen=True)
class Settings:
    """How MoCoSE trains an encoder. The defaults are the authors' own settings.

    Only rate and steps are ours, for a small encoder (theirs: 3e-5, 15,625 steps).
    Raises InputError for wrong types, values out of range, and contradictions.
    """

    seed: Annotated[int, Range(0, 2**63 - 1)] = 0

    # data order and optimisation
    steps: Positive = 200  # batches
    batch_size: Annotated[int, Range(2)] = 64
    max_length: Annotated[int, Range(4)] = 32  # tokens
    optimizer: Literal["adamw", "transformers_adamw"] = "adamw"
    lr: Rate = 3e-4
    weight_decay: Annotated[float, Range(0, 1)] = 1e-6
    warmup_steps: Count = 0  # at most `steps` are used
    max_grad_norm: Annotated[float, Range(1e-6, 1e6)] = 1.0
    precision: Literal["float32", "bf16"] = "float32"
    eval_every: Positive = 50  # steps between two evaluations
    probe_every: Count = 0  # steps between two looks at the geometry; 0: none

    # heads
    target_dropout: bool = True  # the target drops activations, too
    projection_layers: Annotated[int, Range(0, 3)] = 1
    predictor_layers: Annotated[int, Range(0, 3)] = 2
    # output of both heads; None: the width
    predictor_dim: Annotated[int, Range(2, 10**9)] | None = None
    pooler_activation: Literal["none", "tanh"] = "none"
    heads: Literal["published", "plain"] = "published"  # plain: Linear and ReLU
    head_dropout: Share = 0.1

    # loss and queue
    temperature: Annotated[float, Range(1e-3, 100)] = 0.05  # of the softmax
    similarity: Literal["cosine", "dot"] = "cosine"
    batch_negatives: bool = True  # the batch's other keys are negatives, too
    queue_size: Count = 512  # K of equation 3
    queue_init: Count | None = None  # random vectors at first; None: a quarter of K
    queue_growth: Literal["exact", "published"] = "exact"
    negatives_slice: tuple[Slice, ...] = ()  # ages in keys, newest first; (): all
    queue_keys: Literal["normal", "latest"] = "normal"  # latest: encoded at every step

    # the target branch
    # eta of equation 2; two of them: along a cosine, from the first to the second
    ema_decay: float | tuple[float, float] = (0.75, 0.95)
    ema_horizon: Annotated[float, Range(1e-3, 1e3)] = 1.0  # its end, as share of steps
    shared_embeddings: bool = False  # the target uses the online embedding layer
    detach_keys: bool = True
    target_projection_trained: bool = False  # the optimiser updates it, too

    # augmentation beyond dropout
    fgsm_epsilon: Annotated[float, Range(0, 1)] = 5e-9  # of equation 1; 0: none
    fgsm_gradient: Literal["current", "stale"] = "current"
    position_shuffle: bool = False
    token_cutoff: Share = 0.0
    feature_cutoff: Share = 0.0

    def __post_init__(self):
        for f in fields(self):
            value = check(f.name, getattr(self, f.name), f.type)
            object.__setattr__(self, f.name, value)
        for sentence in self.contradictions():
            raise InputError(sentence)

    @property
    def random_keys(self) -> int:
        """How many random vectors the queue holds at the start: see `queue_init`."""
        if self.queue_init is not None:
            return self.queue_init
        return min(self.queue_size, max(1, self.queue_size // 4))

    @property
    def decays(self) -> tuple[float, float]:
        """The decay at the start and at the end of its cosine."""
        decay = self.ema_decay
        return decay if isinstance(decay, tuple) else (decay, decay)

    @property
    def traceable_distance(self) -> float:
        """Maximum traceable distance in steps (MoCoSE eq. 4), at the mean decay."""
        decay = sum(self.decays) / 2
        reach = math.inf if decay == 1 else 1 / (1 - decay)
        return reach + self.queue_size / self.batch_size

    def contradictions(self):
        """A sentence for every two values that contradict each other."""
        size = self.queue_size
        if not all(0 <= decay <= 1 for decay in self.decays):
            yield f"ema_decay = {self.ema_decay} is out of range; give one in [0, 1]."
        if self.random_keys > size:
            yield f"queue_init = {self.queue_init} is larger than queue_size = {size}."
        if size == 0 and not self.batch_negatives:
            yield "queue_size = 0 leaves no negatives; set batch_negatives = True."
        for low, high in self.negatives_slice:
            if not 0 <= low < high <= size:
                yield f"negatives_slice needs 0 <= {low} < {high} <= queue_size."
        if self.predictor_dim is not None and self.projection_layers == 0:
            yield "predictor_dim needs a projection; set projection_layers >= 1."
        if not self.detach_keys and not self.shared_embeddings:
            yield "detach_keys = False needs shared_embeddings = True to act."
        if self.target_projection_trained and self.detach_keys:
            yield "target_projection_trained needs gradients; set detach_keys = False."
        if self.fgsm_epsilon > 0 and self.precision != "float32":
            yield "fgsm_epsilon is lost in bf16; set precision = 'float32'."


def canonical(value):
    """The value with lists as tuples and NumPy's numbers as Python's."""
    if isinstance(value, Mapping):
        return {name: canonical(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(canonical, value))
    return value.item() if isinstance(value, np.generic) else value


def check(name: str, value, hint):
    """The value, `canonical`, or as a float where the type is one; else InputError."""
    try:
        return adapter(hint).validate_python(canonical(value))
    except ValidationError as cause:
        why = cause.errors()[0]["msg"].replace("Input", "it", 1)
        raise InputError(f"{name} = {value!r} is not possible: {why}.") from None
