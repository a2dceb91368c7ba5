"""Presets (whose method), profiles (what size), and the configs of pre-training.

All of them stand in `profiles.toml`. A profile and a preset change fields of a Config;
`configure` puts them together.
"""

from dataclasses import dataclass
from typing import Literal

from mocose_lib.settings import canonical

from .config import Config, choose, known, read_toml


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
    text: Literal["sentences", "contiguous"] = "sentences"
    length: int = 32  # tokens of a sentence, or of a row of running text
    tokens_per_batch: int = 4_096
    masked: float = 0.15
    steps: int = 5_000
    warmup_steps: int = 300
    lr: float = 1.5e-3
    weight_decay: float = 0.01
    bf16: bool = True  # where the processor has units for it
    seed: int = 0


@dataclass(frozen=True)
class Profile:
    """A size of the study: the fields of a Config that it changes, and its seeds."""

    fields: dict
    width: int  # of its encoder's vectors; widths of points are multiples of it
    seeds: int  # of every point; fewer than five give no verdict
    at_pace: dict[str, dict]  # fields of systems that have a best rate of their own
    best: dict[str, dict]  # of those with a best rate and length


def _profile(shared, width: int, seeds: int, at_pace="", best="", **own) -> Profile:
    """A table of `profiles.toml`, with the fields that it shares with others."""
    rates = _READ["at_pace"].get(at_pace, {})
    searched = rates | _READ["best"].get(best, {})
    fields = _READ["shared"][shared] | known(own)
    return Profile(fields, width, seeds, rates, searched)


_READ = canonical(read_toml(__package__, "profiles"))
PRESETS: dict[str, dict] = _READ["preset"]
PROFILES = {name: _profile(**table) for name, table in _READ["profile"].items()}
PRETRAINING = {n: PretrainConfig(n, **t) for n, t in _READ["pretraining"].items()}


def configure(profile: str = "quick", preset: str = "study", **changes) -> Config:
    """The Config of a profile under a preset, with single fields changed.

    >>> configure("quick", ema_decay=0.99).ema_decay
    0.99
    """
    return Config(**fields_of(profile, preset, **changes))


def fields_of(profile: str, preset: str, **changes) -> dict:
    """The fields that `configure` sets, not yet checked.

    Another batch size changes the steps with it, so that as many sentences are seen.
    """
    changes = known(changes)
    size = choose(PROFILES, profile, "profile").fields
    values = {**size, **choose(PRESETS, preset, "preset"), **changes}
    before = size.get("batch_size", Config.batch_size)
    after = values.get("batch_size", before)
    if isinstance(after, int) and after > 0:
        for name in {"steps", "eval_every"} - changes.keys():
            values[name] = max(1, round(size[name] * before / after))
    if values.get("method", "mocose") != "mocose":
        values["fgsm_epsilon"] = changes.get("fgsm_epsilon", 0.0)
    return values
