"""The encoders and sentences that all competitors share."""

from itertools import islice
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from mocose_study.config import Config
from mocose_lib.encoder import locate
from mocose_lib.files import write_atomically
from mocose_study.data.files import study_folder
from mocose_study.config.profiles import PRETRAINING, configure
from mocose_study.data.world import sentences as generated

LENGTH = 32  # tokens a sentence, at most
BASE = "12x768"  # BERT-base
VOCABULARY = {BASE: 30_522}  # as wide as its own, though `tiny`'s tokenizer uses a part alone


def encoder_folder(name: str) -> str:
    """What Config.encoder has to be for layers x width: "2x128" is `tiny`, all others have BERT's
    proportions, random weights, and `tiny`'s tokenizer."""
    if name == "2x128":
        return "tiny"
    folder = study_folder() / "data" / "cache" / "bench" / name
    if not (folder / "model.safetensors").exists():
        layers, width = map(int, name.split("x"))
        settings = BertConfig(
            vocab_size=VOCABULARY.get(name, PRETRAINING["tiny"].vocab_size), hidden_size=width,
            num_hidden_layers=layers, num_attention_heads=width // 64, intermediate_size=4 * width,
            max_position_embeddings=PRETRAINING["tiny"].max_positions)  # fmt: skip
        AutoTokenizer.from_pretrained(locate("tiny")).save_pretrained(folder)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            BertModel(settings).save_pretrained(folder)
    return str(folder)


def corpus_file(text: str, number: int, tokens: int = LENGTH) -> Path:
    """A file of generated sentences: "natural" as they come, "full" joined to at least `tokens`.

    Every word is at least one token, so that `tokens` words are enough.
    """
    path = study_folder() / "data" / "cache" / "bench" / f"{text}-{number}-{tokens}.txt"
    if not path.exists():
        found = _joined(number, tokens) if text == "full" else generated(number, seed=1)
        write_atomically(path, lambda p: p.write_text("\n".join(found) + "\n", encoding="utf-8"))
    return path


def _joined(number: int, tokens: int) -> list[str]:
    words = iter(" ".join(generated(number * (tokens // 4), seed=1)).split())
    return [" ".join(islice(words, tokens)) for _ in range(number)]


def config_of(encoder: str, text: str, precision: str, number: int, **changes) -> Config:
    """The study's own settings on shared material, long enough never to end while it is timed."""
    length = changes.get("max_length", LENGTH)
    values = dict(
        encoder=encoder_folder(encoder), corpus=str(corpus_file(text, number, length)),
        corpus_size=number, precision=precision, steps=1_000_000, eval_every=1_000_000,
        freeze_steps=0, max_length=length)  # fmt: skip
    return configure("quick", **{**values, **changes})
