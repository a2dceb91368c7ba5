"""Every number of the study: the Config of a run, its presets and the profiles.

A Config is the experiment. Two configs that differ in a field that can change a result get
different run ids; what cannot (device, workers, progress bars) is no field.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

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
    benchmark: Literal["generated", "real"] = "generated"
    seed: int = 0

    # data order and optimisation
    steps: int = 200
    batch_size: int = 64
    batch_lengths: Literal["mixed", "equal"] = "equal"  # equal: a batch has sentences of one length
    max_length: int = 32  # tokens, while training
    optimizer: Literal["adamw", "adam"] = "adamw"
    lr: float = 3e-4  # encoder
    head_lr: float = 3e-4  # freshly initialised pooler, projection and predictor
    weight_decay: float = 1e-6
    warmup_steps: int = 0
    freeze_steps: int = 0  # heads alone are trained for so many steps
    max_grad_norm: float = 1.0
    precision: Literal["float32", "bf16"] = "bf16"

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
    text_augmentation: Literal["none"] = "none"
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
    crop: float = 0.0  # SimCSE: share of the tokens cut away at the ends of `augmented_views`
    word_deletion: float = 0.0  # SimCSE: share of the tokens left out, at least one
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

    def to_json(self) -> str:
        """The canonical text of all fields, the same for equal configs."""
        return json.dumps(asdict(self), sort_keys=True)

    def identity(self) -> str:
        """The text that names a run: all fields, but those in LATER only where they are in use."""
        values = asdict(self)
        unused = [name for name, neutral in LATER.items() if values[name] == neutral]
        return json.dumps({k: v for k, v in values.items() if k not in unused}, sort_keys=True)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Config":
        """Builds a Config from parsed JSON. Raises StudyError on an unknown field."""
        check_names(values)
        values = dict(values)
        if "negatives_slice" in values:  # JSON has lists only
            values["negatives_slice"] = _tuples(values["negatives_slice"])
        return cls(**values)


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


def _accepts(kind, value) -> bool:
    """Whether `value` has the annotated type; an int is a fine float, a bool is no number."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            return False
        inner = get_args(kind)
        kinds = inner[:1] * len(value) if inner[-1] is ... else inner
        return len(kinds) == len(value) and all(map(_accepts, kinds, value))
    if get_args(kind) and type(None) in get_args(kind):
        return value is None or any(_accepts(k, value) for k in get_args(kind) if k is not type(None))
    return isinstance(value, get_origin(kind) or kind)


def check(config: Config) -> None:
    """Raises StudyError, naming the field, on a value no run could use."""
    for name, field in FIELDS.items():
        if not _accepts(field.type, value := getattr(config, name)):
            choices = get_args(field.type) if get_origin(field.type) is Literal else field.type
            raise StudyError(f"{name} = {value!r} is not possible; it must be one of {choices}.")
    for name, low, high in RANGES:
        value = getattr(config, name)
        if value is not None and not low <= value <= high:
            raise StudyError(f"{name} = {value} is out of range; it must lie in [{low}, {high}].")
    for wrong, sentence in _contradictions(config):
        if wrong:
            raise StudyError(sentence)


ANY = float("inf")
TINY = 1e-12  # the open end of an interval
RANGES = (
    ("encoder_layers", 1, ANY), ("corpus_size", 2, ANY), ("seed", 0, ANY), ("steps", 1, ANY),
    ("batch_size", 2, ANY), ("max_length", 4, ANY), ("lr", 0, 1), ("head_lr", 0, 1),
    ("weight_decay", 0, 1), ("warmup_steps", 0, ANY), ("freeze_steps", 0, ANY),
    ("max_grad_norm", TINY, ANY), ("dropout", 0, 1 - TINY), ("head_dropout", 0, 1 - TINY),
    ("projection_layers", 0, 3), ("predictor_layers", 0, 3), ("predictor_dim", 1, ANY),
    ("temperature", TINY, ANY), ("queue_size", 0, ANY), ("queue_init", 0, ANY),
    ("ema_decay", 0, 1), ("ema_decay_end", 0, 1), ("ema_horizon", 1, ANY),
    ("fgsm_epsilon", 0, ANY), ("token_cutoff", 0, 1 - TINY), ("feature_cutoff", 0, 1 - TINY),
    ("eval_every", 1, ANY), ("eval_max_length", 4, ANY),
    ("kept_dimensions", 1, ANY), ("sif", 0, ANY), ("crop", 0, 1 - TINY),
    ("word_deletion", 0, 1 - TINY), ("mlm_weight", 0, ANY), ("dropout_low", 0, 1 - TINY),
    ("dropout_high", 0, 1 - TINY), ("hard_negative_weight", 0, ANY), ("ct_negatives", 1, ANY),
    ("flow_steps", 1, ANY), ("flow_width", 1, ANY), ("span_min", 1, ANY),
    ("span_anchors", 1, ANY), ("span_positives", 1, ANY), ("span_mlm_weight", 0, ANY),
)  # fmt: skip
POOLER_UNUSED = ("simcse", "s_simcse", "simcse_supervised", "ct", "flow", "is_bert", "declutr")


def _contradictions(c: Config):
    """Pairs of (is it wrong, the sentence that says so)."""
    yield c.queue_init > c.queue_size, (
        f"queue_init = {c.queue_init} is larger than queue_size = {c.queue_size}; "
        "at most the whole queue can be filled at the start."
    )
    yield c.queue_size == 0 and not c.batch_negatives, (
        "queue_size = 0 leaves the loss without negatives; set batch_negatives = True."
    )
    for low, high in c.negatives_slice:
        yield not 0 <= low < high <= c.queue_size, (
            f"negatives_slice ({low}, {high}) does not fit a queue of {c.queue_size}; "
            "it needs 0 <= low < high <= queue_size."
        )
    yield c.batch_size > c.corpus_size, (
        f"batch_size = {c.batch_size} is larger than corpus_size = {c.corpus_size}."
    )
    yield c.predictor_dim is not None and c.projection_layers == 0, (
        "predictor_dim needs a projection, since query and keys must have one width; "
        "set projection_layers >= 1 or leave predictor_dim out."
    )
    yield not c.detach_keys and not c.shared_embeddings, (
        "detach_keys = False changes nothing unless the embeddings are shared; "
        "set shared_embeddings = True."
    )
    yield c.target_projection_trained and c.detach_keys, (
        "target_projection_trained = True needs gradients in the target branch; "
        "set detach_keys = False."
    )
    yield c.fgsm_epsilon > 0 and c.precision != "float32", (
        f"fgsm_epsilon = {c.fgsm_epsilon} would be rounded away in bf16; "
        "set precision = 'float32'."
    )
    yield c.same_mask and (c.positives != "same" or c.crop > 0 or c.word_deletion > 0), (
        "same_mask needs two views of the same tokens; leave positives, crop and word_deletion out."
    )
    yield c.dropout_low > c.dropout_high, (
        f"dropout_low = {c.dropout_low} is larger than dropout_high = {c.dropout_high}."
    )
    yield c.method == "ct" and c.batch_size % (c.ct_negatives + 1) > 0, (
        f"batch_size = {c.batch_size} is no multiple of ct_negatives + 1 = {c.ct_negatives + 1}, "
        "a sentence with its negatives."
    )
    yield c.method == "declutr" and c.span_min > c.max_length - 2, (
        f"span_min = {c.span_min} leaves no span in max_length = {c.max_length}, "
        "two of which are special tokens."
    )
    yield c.pooling == "cls_pooler" and c.method in POOLER_UNUSED, (
        f"pooling = 'cls_pooler' would measure a layer that {c.method} does not train; "
        "set pooling = 'cls'."
    )


# What the paper says (MoCoSE sections 3 and 4.1, equations 1-3, appendix A.1 and A.3).
AS_DESCRIBED = MappingProxyType(dict(
    temperature=0.05, batch_negatives=False, similarity="dot", heads="plain", head_dropout=0.0,
    ema_schedule="cosine", ema_decay=0.75, ema_decay_end=0.95, ema_horizon=None,
    ema_moment="after_step", shared_embeddings=False, detach_keys=True,
    fgsm_epsilon=5e-9, fgsm_gradient="current", precision="float32", queue_growth="exact",
    target_dropout=True, optimizer="adam", selection="dev", augmented_views="both",
    batch_lengths="mixed",
))  # fmt: skip

# What the authors' public implementation does where it differs or the paper is silent.
AS_PUBLISHED = MappingProxyType(dict(
    temperature=0.05, batch_negatives=True, similarity="cosine", heads="published",
    head_dropout=0.1, ema_schedule="cosine", ema_decay=0.75, ema_decay_end=1.0,
    ema_horizon=15_000, ema_moment="before_forward", shared_embeddings=True, detach_keys=False,
    target_projection_trained=True, augment_at_evaluation=True, pooler_activation="none",
    fgsm_epsilon=5e-9, fgsm_gradient="stale", precision="float32", queue_growth="published",
    target_dropout=True, optimizer="adamw", selection="test", augmented_views="target",
    batch_lengths="mixed",
))  # fmt: skip

PRESETS = MappingProxyType(
    {"study": MappingProxyType({}), "as_described": AS_DESCRIBED, "as_published": AS_PUBLISHED}
)

# Fresh heads beside a small pre-trained encoder: they are trained alone for the first steps and
# at a higher rate. Chosen on the dev splits, for MoCoSE's default settings.
_SMALL = dict(lr=1e-4, head_lr=1e-3)
_REAL = dict(corpus="wiki900k", corpus_size=100_000, benchmark="real")
_HUB = dict(
    corpus="wiki1m", corpus_size=1_000_000, benchmark="real", batch_lengths="mixed", steps=15_625,
    eval_every=100, lr=3e-5, head_lr=3e-5,
)  # fmt: skip
PROFILES = MappingProxyType({
    "quick": MappingProxyType(dict(_SMALL, steps=150, freeze_steps=50, eval_every=50)),
    "tiny": MappingProxyType(dict(_SMALL, **_REAL, steps=400, freeze_steps=150, eval_every=50)),
    "mini": MappingProxyType(dict(
        _SMALL, **_REAL, encoder="mini", steps=4_000, freeze_steps=500, eval_every=200)),
    "base": MappingProxyType(dict(_HUB, encoder="bert-base-uncased")),
    "large": MappingProxyType(dict(
        _HUB, encoder="bert-large-uncased", batch_size=32, steps=31_250, lr=1e-5, head_lr=1e-5)),
    "roberta-base": MappingProxyType(dict(_HUB, encoder="roberta-base")),
})  # fmt: skip


def choose(table, name: str, what: str):
    """table[name]. Raises StudyError naming what there is when `name` is not in it."""
    if name not in table:
        raise StudyError(f"there is no {what} {name!r}; choose one of {', '.join(table)}.")
    return table[name]


def configure(profile: str = "quick", preset: str = "study", **changes) -> Config:
    """The Config of a profile under a preset, with single fields changed.

    >>> configure("quick", ema_decay=0.99).ema_decay
    0.99
    """
    check_names(changes)
    values = {**choose(PROFILES, profile, "profile"), **choose(PRESETS, preset, "preset")}
    return Config(**{**values, **changes})


def vary(config: Config, **changes) -> Config:
    """A copy of `config` with some fields changed, validated."""
    check_names(changes)
    return replace(config, **changes)


@dataclass(frozen=True)
class PretrainConfig:
    """One pre-training of an encoder (see `pretrain.py`)."""

    name: str = "tiny"
    corpus: str = "wiki_documents"
    corpus_size: int = 1_424_748
    layers: int = 2
    hidden_size: int = 128
    attention_heads: int = 2
    vocab_size: int = 8192
    max_positions: int = 128
    dropout: float = 0.0
    sentence_length: int = 32  # tokens, special ones included
    tokens_per_batch: int = 16_384
    masked: float = 0.15
    objectives: tuple[str, ...] = ("next_sentence", "bag_of_words")  # beside masked tokens
    steps: int = 5_000
    warmup_steps: int = 300
    lr: float = 2e-3
    weight_decay: float = 0.01
    bf16: bool = True
    seed: int = 0


PRETRAINING = MappingProxyType({
    "tiny": PretrainConfig(),
    "mini": PretrainConfig(name="mini", layers=4, hidden_size=256, attention_heads=4, lr=1e-3),
})  # fmt: skip
