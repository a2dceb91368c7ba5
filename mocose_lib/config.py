"""The Config of a run: every number that can change a result, with the study's own defaults.

A Config is the experiment. Two configs that differ in a field that can change a result get
different run ids; what cannot (device, workers, progress bars) is no field. Other values for
many fields at once, presets and profiles, stand in `profiles.py`.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from .checks import RANGES, accepts, contradictions

Slice = tuple[int, int]


class StudyError(Exception):
    """Bad input. Its text is one sentence: what is wrong, and what would be right."""


@dataclass(frozen=True)
class Config:
    """One run: what is trained, on what, how, and how the checkpoint is chosen.

    Defaults are the study's own: the paper's description, except where it is silent or cannot
    be trained at small scale (README, "What differs"). Raises StudyError on impossible values.
    """

    # what is trained, and what it is measured on
    method: str = "mocose"
    encoder: str = "tiny"  # a folder under data/encoders, a path, or a hub name
    encoder_layers: int | None = None  # keep the first n layers
    corpus: str = "generated"  # a name in data.CORPORA, or a text file, one sentence a line
    corpus_size: int = 20_000  # sentences
    benchmark: Literal["generated", "sample", "real"] = "generated"  # sample: a part of the first
    seed: int = 0

    # data order and optimisation
    steps: int = 200
    batch_size: int = 64
    batch_lengths: Literal["mixed", "equal", "one"] = "equal"  # of a batch: equal; of all: one
    max_length: int = 32  # tokens, while training
    optimizer: Literal["adamw", "adam"] = "adamw"
    lr: float = 3e-4  # encoder
    head_lr: float = 3e-4  # freshly initialised pooler, projection and predictor
    weight_decay: float = 1e-6
    warmup_steps: int = 0
    freeze_steps: int = 0  # fresh heads, if any, are trained alone for so many steps
    max_grad_norm: float = 1.0
    precision: Literal["float32", "bf16"] = "float32"  # bf16 is slower where a CPU lacks it

    # encoder and heads
    pooling: Literal["cls", "cls_pooler", "mean", "first_last"] = "cls"
    dropout: float = 0.1
    target_dropout: bool = True
    projection_layers: int = 1
    predictor_layers: int = 2
    predictor_dim: int | None = None  # output of both heads; None: the encoder's width
    pooler_activation: Literal["none", "tanh"] = "none"
    heads: Literal["published", "plain"] = "published"  # LayerNorm + dropout, or Linear + ReLU
    head_dropout: float = 0.1

    # loss and queue
    temperature: float = 0.05
    similarity: Literal["cosine", "dot"] = "cosine"
    batch_negatives: bool = False  # the batch's other keys beside the queue
    queue_size: int = 512  # K of equation 3; 0: no queue
    queue_init: int = 128  # random unit vectors at the start
    queue_growth: Literal["exact", "published"] = "exact"
    negatives_slice: tuple[Slice, ...] = ()  # ages in keys, newest first; (): the whole queue
    queue_keys: Literal["normal", "latest"] = "normal"  # latest: re-encoded by the present target

    # the target branch
    ema_decay: float = 0.85
    ema_schedule: Literal["constant", "cosine"] = "constant"
    ema_decay_end: float = 0.85
    ema_horizon: int | None = None  # steps of the cosine; None: all steps of the run
    ema_moment: Literal["after_step", "before_forward"] = "after_step"
    shared_embeddings: bool = False  # the target uses the online embedding layer
    detach_keys: bool = True
    target_projection_trained: bool = False  # the optimiser updates it beside the EMA

    # augmentation beyond dropout
    fgsm_epsilon: float = 0.0
    fgsm_gradient: Literal["current", "stale"] = "current"
    position_shuffle: bool = False
    token_cutoff: float = 0.0
    feature_cutoff: float = 0.0
    text_augmentation: Literal[
        "none", "typos", "synonym", "insertion", "paraphrase", "back_translation"
    ] = "none"
    augmented_views: Literal["target", "both"] = "both"  # of text_augmentation
    augment_at_evaluation: bool = False  # shuffle and cut-offs while scoring, too

    # evaluation and choice of the checkpoint
    eval_every: int = 50
    selection: Literal["dev", "test", "last"] = "dev"
    eval_max_length: int = 128
    transfer: bool = False  # measure the transfer tasks, too

    # other systems (methods/)
    statistics: Literal["task", "corpus"] = "task"  # whitening, flow, SIF: texts they learn from
    kept_dimensions: int | None = None  # whitening; None: all in which the vectors vary
    vectors: str = "glove/glove.6B.50d.subset.txt.xz"  # a file of the data folder, or a path
    sif: float = 0.0  # a of the weight a / (a + p(word)); 0: plain average
    mlp: Literal["training", "always", "never"] = "training"  # SimCSE: always: at evaluation, too
    positives: Literal["same", "next_sentence"] = "same"  # SimCSE: of a sentence
    two_encoders: bool = False  # SimCSE: each view has one
    same_mask: bool = False  # SimCSE: both views have one dropout mask
    crop: float = 0.0  # share of the tokens cut away at the ends of `augmented_views`
    word_deletion: float = 0.0  # share of the tokens left out, at least one
    mlm_weight: float = 0.0  # SimCSE: of the auxiliary masked-language-model term
    dropout_low: float = 0.0  # S-SimCSE: rates are drawn from U(dropout_low, dropout_high)
    dropout_high: float = 0.2
    sentence_dropout: bool = True  # S-SimCSE: each sentence draws its own rates
    triplets: str = "nli/nli_triplets_small.tsv"  # supervised SimCSE: also a name of the hub
    hard_negative_weight: float = 1.0  # supervised SimCSE: alpha of a premise's own contradiction
    ct_negatives: int = 7  # contrastive tension: other sentences beside each one
    flow_steps: int = 6  # BERT-flow: couplings
    flow_width: int = 256  # BERT-flow: hidden width of a coupling's network
    span_min: int = 8  # DeCLUTR: tokens of the shortest span; of the longest: max_length - 2
    span_anchors: int = 2  # DeCLUTR: of a document
    span_positives: int = 2  # DeCLUTR: of an anchor
    span_mlm_weight: float = 1.0  # DeCLUTR: of its masked-language-model term
    augmentation_models: tuple[str, ...] = ()  # of text_augmentation; (): text_augment.models_of
    augmentation_rate: float = 0.1  # share of the words, at least one (not of generated texts)
    hard_negatives: bool = True  # supervised SimCSE: contradictions as further negatives
    head_init: Literal["random", "identity"] = "random"  # of pooler, projection and predictor
    probe_every: int = 0  # steps between two looks at alignment and uniformity; 0: when scored
    idf: bool = False  # word counts: weighted by inverse document frequency
    encoder_init: Literal["pretrained", "random"] = "pretrained"  # random: its shape alone
    resamples: int = 0  # of the test pairs, each scored once more (`stats.resampled`)
    whitened_on: int = 0  # sentences of the corpus whose whitening follows training; 0: none

    def __post_init__(self):
        check(self)
        for name, field in FIELDS.items():  # 1 and 1.0 are equal, and shall have one text
            if field.type is float:
                object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def traceable_distance(self) -> float:
        """Maximum traceable distance in steps (MoCoSE eq. 4); infinite for a decay of 1."""
        if self.ema_decay == 1:
            return float("inf")
        return 1 / (1 - self.ema_decay) + self.queue_size / self.batch_size

    def identity(self) -> str:
        """The canonical text that names a run, the same for equal configs: all fields, but those
        in LATER only where they are in use."""
        values = asdict(self)
        unused = [name for name, neutral in LATER.items() if values[name] == neutral]
        return json.dumps({k: v for k, v in values.items() if k not in unused}, sort_keys=True)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Config":
        """Builds a Config from parsed JSON. Raises StudyError on an unknown field."""
        check_names(values)
        # JSON has lists only
        tuples = [name for name in values if get_origin(FIELDS[name].type) is tuple]
        return cls(**{**values, **{name: _tuples(values[name]) for name in tuples}})


def _tuples(value):
    """Nested lists as nested tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


FIELDS = MappingProxyType({field.name: field for field in fields(Config)})

# Fields that stay out of a run's name while they have their default: those of other systems and
# whatever is added later, so that a new field does not orphan finished runs. Such a default must
# never change; a new one needs a new field.
_NAMES = list(FIELDS)
LATER = {name: FIELDS[name].default for name in _NAMES[_NAMES.index("transfer") + 1 :]}


def check_names(values) -> None:
    for name in values:
        if name not in FIELDS:
            near = get_close_matches(name, FIELDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(FIELDS)}."
            raise StudyError(f"Config has no field {name!r}; {hint}")


def check(config: Config) -> None:
    """Raises StudyError, naming the field, on a value no run could use."""
    for name, field in FIELDS.items():
        if not accepts(field.type, value := getattr(config, name)):
            choices = get_args(field.type) if get_origin(field.type) is Literal else field.type
            raise StudyError(f"{name} = {value!r} is not possible; it must be one of {choices}.")
    for name, low, high in RANGES:
        value = getattr(config, name)
        if value is not None and not low <= value <= high:
            raise StudyError(f"{name} = {value} is out of range; it must lie in [{low}, {high}].")
    for wrong, sentence in contradictions(config):
        if wrong:
            raise StudyError(sentence)


def choose(table, name: str, what: str):
    """table[name]. Raises StudyError naming what there is when `name` is not in it."""
    if name not in table:
        raise StudyError(f"there is no {what} {name!r}; choose one of {', '.join(table)}.")
    return table[name]


def vary(config: Config, **changes) -> Config:
    """A copy of `config` with some fields changed, validated."""
    check_names(changes)
    return replace(config, **changes)
