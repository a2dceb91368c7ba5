"""The numbers of MoCoSE: one frozen dataclass, each number with its range beside it."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

Slice = tuple[int, int]


class InputError(Exception):
    """Bad input. The text is one sentence: what is wrong, and what would be right."""


@dataclass(frozen=True)
class Range:
    """The closed interval of values that a field accepts."""

    low: float
    high: float = math.inf


Count = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
Share = Annotated[
    float, Range(0, 0.9)
]  # of tokens, features or activations that are taken away
Rate = Annotated[float, Range(0, 0.1)]  # learning rates; larger ones diverge
Decay = Annotated[float, Range(0, 1)]


@dataclass(frozen=True)
class Settings:
    """How MoCoSE trains an encoder. The defaults are the paper's settings as its authors ran them.

    Rate and steps alone are ours: they suit a small encoder (the paper: 3e-5, a million sentences).
    Raises InputError for a value of another type or outside its range, and for contradictions.
    """

    seed: Annotated[int, Range(0, 2**63 - 1)] = 0

    # data order and optimisation
    steps: Positive = 200  # batches
    batch_size: Annotated[int, Range(2)] = 64
    # mixed: any sentences; equal: sentences of one length in a batch; one: one length in the run
    batch_lengths: Literal["mixed", "equal", "one"] = "mixed"
    max_length: Annotated[int, Range(4)] = 32  # tokens
    optimizer: Literal["adamw", "transformers_adamw"] = "adamw"
    lr: Rate = 3e-4  # of the encoder
    head_lr: Rate = 3e-4  # of pooler, projection and predictor
    weight_decay: Annotated[float, Range(0, 1)] = 1e-6
    warmup_steps: Count = 0
    max_grad_norm: Annotated[float, Range(1e-6, 1e6)] = 1.0
    precision: Literal["float32", "bf16"] = "float32"
    eval_every: Positive = 50  # steps between two evaluations
    probe_every: Count = 0  # steps between two looks at the geometry; 0: none

    # heads
    target_dropout: bool = True  # the target drops activations, too
    projection_layers: Annotated[int, Range(0, 3)] = 1
    predictor_layers: Annotated[int, Range(0, 3)] = 2
    predictor_dim: Positive | None = None  # output of both heads; None: the width
    pooler_activation: Literal["none", "tanh"] = "none"
    heads: Literal["published", "plain"] = (
        "published"  # LayerNorm and dropout, or Linear and ReLU
    )
    head_dropout: Share = 0.1
    head_init: Literal["random", "identity"] = (
        "random"  # random: N(0, 0.02), as BERT's layers
    )

    # loss and queue
    temperature: Annotated[float, Range(1e-3, 100)] = 0.05  # of the softmax
    similarity: Literal["cosine", "dot"] = "cosine"
    batch_negatives: bool = True  # the batch's other keys are negatives, too
    queue_size: Count = 512  # K of equation 3
    queue_init: Count = 128  # random unit vectors at the start
    queue_growth: Literal["exact", "published"] = "exact"
    negatives_slice: tuple[
        Slice, ...
    ] = ()  # ages in keys, newest first; (): the whole queue
    queue_keys: Literal["normal", "latest"] = (
        "normal"  # latest: encoded anew at every step
    )

    # the target branch
    ema_decay: Decay = 0.75  # eta of equation 2; of the cosine: at its start
    # cosine: keeps its end value; published: turns back after its horizon
    ema_schedule: Literal["constant", "cosine", "published"] = "cosine"
    ema_decay_end: Decay = 0.95
    ema_horizon: Positive | None = None  # steps of the cosine; None: all steps
    shared_embeddings: bool = (
        False  # the target uses the online branch's embedding layer
    )
    detach_keys: bool = True
    target_projection_trained: bool = False  # the optimiser updates it, too

    # augmentation beyond dropout
    fgsm_epsilon: Annotated[float, Range(0, 1)] = 5e-9  # of equation 1; 0: none
    fgsm_gradient: Literal["current", "stale"] = "current"
    position_shuffle: bool = False
    token_cutoff: Share = 0.0
    feature_cutoff: Share = 0.0

    def __post_init__(self):
        for name, (kind, span) in specification(type(self)).items():
            check(name, getattr(self, name), kind, span)
            if kind is float:  # 1 and 1.0 are equal and need one text
                object.__setattr__(self, name, float(getattr(self, name)))
        for sentence in self.contradictions():
            raise InputError(sentence)

    @property
    def traceable_distance(self) -> float:
        """Maximum traceable distance in steps (MoCoSE eq. 4); infinite for a decay of 1."""
        reach = math.inf if self.ema_decay == 1 else 1 / (1 - self.ema_decay)
        return reach + self.queue_size / self.batch_size

    def contradictions(self):
        """A sentence for every two values that contradict each other."""
        if self.warmup_steps > self.steps:
            yield f"warmup_steps = {self.warmup_steps} is larger than steps = {self.steps}."
        if self.queue_init > self.queue_size:
            yield f"queue_init = {self.queue_init} is larger than queue_size = {self.queue_size}."
        if self.queue_size == 0 and not self.batch_negatives:
            yield "queue_size = 0 leaves the loss without negatives; set batch_negatives = True."
        for low, high in self.negatives_slice:
            if not 0 <= low < high <= self.queue_size:
                yield f"negatives_slice ({low}, {high}) needs 0 <= low < high <= queue_size."
        if self.predictor_dim is not None and self.projection_layers == 0:
            yield "predictor_dim needs a projection; set projection_layers >= 1, or leave it out."
        if not self.detach_keys and not self.shared_embeddings:
            yield "detach_keys = False changes nothing by itself; set shared_embeddings = True."
        if self.target_projection_trained and self.detach_keys:
            yield "target_projection_trained = True needs gradients; set detach_keys = False."
        if self.fgsm_epsilon > 0 and self.precision != "float32":
            yield "fgsm_epsilon would be rounded away in bf16; set precision = 'float32'."


@cache
def specification(cls: type) -> dict[str, tuple[Any, Range]]:
    """Type and range of every field of a dataclass; the range may stand inside an optional type."""
    hints, found = get_type_hints(cls, include_extras=True), {}
    for name, kind in get_type_hints(cls).items():
        parts = [
            p
            for p in (hints[name], *get_args(hints[name]))
            if get_origin(p) is Annotated
        ]
        found[name] = kind, get_args(parts[0])[1] if parts else Range(-math.inf)
    return found


def accepts(kind, value) -> bool:
    """Whether `value` has the annotated type; an int is a fine float, a bool is no number."""
    choices = get_args(kind)
    if get_origin(kind) is Literal:
        return value in choices
    if get_origin(kind) is tuple:
        size = len(value) if isinstance(value, tuple) else -1
        kinds = choices[:1] * size if choices[-1] is ... else choices
        return len(kinds) == size and all(map(accepts, kinds, value))
    if choices:  # of a union
        return any(accepts(choice, value) for choice in choices)
    flag = isinstance(value, bool) and kind is not bool
    return not flag and isinstance(value, int | float if kind is float else kind)


def check(name: str, value, kind, span: Range) -> None:
    """Raises InputError when the value of a field has another type, or is out of range."""
    if not accepts(kind, value):
        choices = f"one of {get_args(kind)}" if get_origin(kind) is Literal else None
        named = str(kind) if get_args(kind) else kind.__name__
        wanted = choices or f"a value of type {named}"
        raise InputError(f"{name} = {value!r} is not possible; choose {wanted}.")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and not (math.isfinite(value) and span.low <= value <= span.high):
        limits = f"[{span.low:g}, {span.high:g}]"
        raise InputError(f"{name} = {value} is out of range; it must lie in {limits}.")
