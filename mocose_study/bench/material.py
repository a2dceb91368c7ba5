"""How much is measured, and the encoders and sentences that all systems share."""

import tomllib
from dataclasses import replace
from importlib.resources import files
from itertools import cycle, islice
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

from transformers import AutoTokenizer

from mocose_study.config import Config
from mocose_study.config.profiles import PRETRAINING, PretrainConfig
from mocose_study.data.atomic import write_atomically
from mocose_study.data.corpora import load_corpus
from mocose_study.data.encoders import locate
from mocose_study.data.files import cache_folder
from mocose_study.pretraining.pretrain import new_model

LENGTH = 32  # tokens a sentence, at most
BASE = "12x768"  # BERT-base
VOCABULARY = {BASE: 30_522}  # as wide as its own, though `tiny`'s tokenizer uses a part alone
Sizes = SimpleNamespace  # a table of sizes.toml
_READ = tomllib.loads((files(__package__) / "sizes.toml").read_text())
SIZES = MappingProxyType({name: Sizes(**_READ["quick"] | t) for name, t in _READ.items()})


def pretraining_of(encoder: str, **changes) -> PretrainConfig:
    """The pre-training of `tiny` at layers x width, in BERT's proportions."""
    layers, width = map(int, encoder.split("x"))
    shape = {"layers": layers, "hidden_size": width, "attention_heads": width // 64}
    return replace(PRETRAINING["tiny"], **shape, **changes)


def encoder_folder(name: str) -> str:
    """What Config.encoder has to be for layers x width.

    "2x128" is `tiny`. All others have random weights and `tiny`'s tokenizer.
    """
    if name == "2x128":
        return "tiny"
    folder = cache_folder() / "bench" / name
    if not (folder / "model.safetensors").exists():
        tokenizer = AutoTokenizer.from_pretrained(locate("tiny"))
        tokenizer.save_pretrained(folder)
        words = VOCABULARY.get(name, len(tokenizer))
        new_model(pretraining_of(name, vocab_size=words)).bert.save_pretrained(folder)
    return str(folder)


def full_text(number: int, tokens: int) -> Path:
    """A file of open sentences joined to `tokens` words, each of which is a token at least."""
    path = cache_folder() / "bench" / f"full-{number}-{tokens}.txt"
    if not path.exists():
        words = cycle(" ".join(load_corpus("open", 40_000)["sentence"]).split())
        lines = [" ".join(islice(words, tokens)) for _ in range(number)]
        write_atomically(path, lambda p: p.write_text("\n".join(lines) + "\n", encoding="utf-8"))
    return path


def config_of(encoder: str, text: str, precision: str, number: int, **changes) -> Config:
    """The library's defaults on shared material, long enough never to end while it is timed.

    "natural" are open sentences as they come; of "full" all fill the greatest length.
    """
    length = changes.get("max_length", LENGTH)
    corpus = str(full_text(number, length)) if text == "full" else "open"
    values = dict(encoder=encoder_folder(encoder), precision=precision, max_length=length)
    values |= dict(corpus=corpus, corpus_size=number, steps=1_000_000, eval_every=1_000_000)
    return Config(**{**values, "mlp": "never", **changes})
