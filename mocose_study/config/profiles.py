"""Presets (whose method), profiles (what size), and the configs of pre-training.

A profile and a preset change fields of a Config; `configure` puts them together.
"""

from dataclasses import dataclass
from types import MappingProxyType

from .checks import SHORTENED
from .config import Config, check_names, choose

# What the paper says (MoCoSE sections 3 and 4.1, equations 1-3, appendix A.1 and A.3).
AS_DESCRIBED = MappingProxyType(dict(
    temperature=0.05, batch_negatives=False, similarity="dot", heads="plain", head_dropout=0.0,
    ema_schedule="cosine", ema_decay=0.75, ema_decay_end=0.95, ema_horizon=None,
    ema_moment="after_step", shared_embeddings=False, detach_keys=True,
    fgsm_epsilon=5e-9, fgsm_gradient="current", precision="float32", queue_growth="exact",
    target_dropout=True, optimizer="adam", selection="dev",
))  # fmt: skip

# What the authors' public implementation does where it differs or the paper is silent.
AS_PUBLISHED = MappingProxyType(dict(
    temperature=0.05, batch_negatives=True, similarity="cosine", heads="published",
    head_dropout=0.1, ema_schedule="cosine", ema_decay=0.75, ema_decay_end=1.0,
    ema_horizon=15_000, ema_moment="before_forward", shared_embeddings=True, detach_keys=False,
    target_projection_trained=True, augment_at_evaluation=True, pooler_activation="none",
    fgsm_epsilon=5e-9, fgsm_gradient="stale", precision="float32", queue_growth="published",
    target_dropout=True, optimizer="adamw", selection="test",
))  # fmt: skip

# MoCo for text (He et al. 2020, Algorithm 1): MoCoSE without predictor and without FGSM.
MOCO = MappingProxyType(dict(predictor_layers=0, fgsm_epsilon=0.0))

PRESETS = MappingProxyType({
    "study": MappingProxyType({}), "as_described": AS_DESCRIBED, "as_published": AS_PUBLISHED,
    "moco": MOCO,
})  # fmt: skip

# The stage: the text and the schedule on which contrastive learning moves a small encoder. All
# systems share it. Each view keeps half of a sentence, and all sentences of a run have one length:
# otherwise whatever two equal strings of tokens share, or their length, solves the task at once.
# MoCoSE's negatives are the queue alone, as in equation 3: with the batch's keys beside them it
# trains without a moving average, too.
# `sections/search.py` has the runs that chose it on dev.
_STAGE = dict(
    batch_lengths="one", max_length=24, crop=0.5, queue_size=128,
    queue_init=32, head_init="identity", lr=1e-3, head_lr=1e-3,
)  # fmt: skip
_REAL = dict(corpus="wiki900k", corpus_size=200_000, benchmark="real", resamples=200)
_HUB = dict(
    corpus="wiki1m", corpus_size=1_000_000, benchmark="real", batch_lengths="mixed", steps=15_625,
    eval_every=100, lr=3e-5, head_lr=3e-5, precision="bf16", triplets="nli_for_simcse.csv",
)  # fmt: skip
PROFILES = MappingProxyType({
    "smoke": MappingProxyType(dict(  # for tests
        _STAGE, corpus_size=6_000, benchmark="sample", steps=4, eval_every=2)),
    "quick": MappingProxyType(dict(_STAGE, steps=400, eval_every=100, warmup_steps=20)),
    "tiny": MappingProxyType(dict(
        _STAGE, **_REAL, steps=500, eval_every=125, warmup_steps=20)),
    "mini": MappingProxyType(dict(
        {**_STAGE, **_REAL}, encoder="mini", lr=5e-4, head_lr=5e-4, steps=500, eval_every=125,
        warmup_steps=20)),
    "base": MappingProxyType(dict(_HUB, encoder="bert-base-uncased")),
    "large": MappingProxyType(dict(
        _HUB, encoder="bert-large-uncased", batch_size=32, steps=31_250, lr=1e-5, head_lr=1e-5)),
    "roberta-base": MappingProxyType(dict(_HUB, encoder="roberta-base")),
})  # fmt: skip

# Of their encoders' vectors; what a grid scales with the encoder is a multiple of it.
WIDTHS = MappingProxyType({
    "smoke": 128, "quick": 128, "tiny": 128, "mini": 256, "base": 768, "large": 1024,
    "roberta-base": 768,
})  # fmt: skip


def configure(profile: str = "quick", preset: str = "study", **changes) -> Config:
    """The Config of a profile under a preset, with single fields changed.

    >>> configure("quick", ema_decay=0.99).ema_decay
    0.99
    """
    check_names(changes)
    values = {**choose(PROFILES, profile, "profile"), **choose(PRESETS, preset, "preset"), **changes}
    method = values.get("method", "mocose")
    if method not in SHORTENED:  # systems without views to shorten
        values["crop"] = changes.get("crop", 0.0)
    if method != "mocose":  # they have no queue: a sentence's negatives are its batch
        values["batch_negatives"] = changes.get("batch_negatives", True)
    return Config(**values)


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
    "tiny": PretrainConfig(  # BERT's two objectives, in many small steps
        name="tiny", objectives=("next_sentence",), tokens_per_batch=4_096, steps=8_000,
        warmup_steps=400, lr=1.5e-3, bf16=False),
    "tiny-long": PretrainConfig(  # the same with five times the text
        name="tiny-long", objectives=("next_sentence",), tokens_per_batch=4_096, steps=44_000,
        warmup_steps=1_000, lr=1.5e-3),
    "tiny-cls": PretrainConfig(name="tiny-cls"),  # its [CLS] was taught the words of its text
    "mini": PretrainConfig(
        name="mini", layers=3, hidden_size=256, attention_heads=4, objectives=("next_sentence",),
        tokens_per_batch=4_096, steps=5_000, warmup_steps=200, lr=1e-3, bf16=False),
})  # fmt: skip
