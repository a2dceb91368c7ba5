"""How much is measured, and the encoders and sentences that all systems share."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from mocose_study.config import Config
from mocose_study.data.atomic import write_atomically
from mocose_study.data.corpora import load_corpus
from mocose_study.data.encoders import locate
from mocose_study.data.files import cache_folder

LENGTH = 32  # tokens a sentence, at most
BASE = "12x768"  # BERT-base
VOCABULARY = {BASE: 30_522}  # as wide as its own, though `tiny`'s tokenizer uses a part alone


@dataclass(frozen=True)
class Sizes:
    """How much is measured, and for how long; the notebook shows it beside the results."""

    repeats: int  # rounds in which all systems take turns
    seconds: float  # of training of a system in each round
    long_repeats: int = 3  # rounds, at most, of the parts whose turns take minutes
    encoders: tuple[str, ...] = ("2x128", "4x256")
    texts: tuple[str, ...] = ("full", "natural")
    sentences: int = 4_000  # of each text
    queues: tuple[int, ...] = (128, 512, 2048, 8192, 65_536)
    batches: tuple[int, ...] = (16, 32, 64, 128)
    lengths: tuple[int, ...] = (8, 16, 32, 64)
    depths: tuple[int, ...] = (1, 2, 4)  # layers of 4x256
    memory_steps: int = 500
    grid_steps: int = 60  # of each run of the grid
    grid_runs: int = 2  # of each process
    gpu_runs: int = 64  # processes side by side on one GPU


_SMOKE = dict(encoders=("2x128",), texts=("full",), sentences=300, queues=(128, 512))
_SMOKE |= dict(batches=(16, 64), lengths=(8, 32), depths=(1, 2), memory_steps=10, grid_steps=2)
SIZES = MappingProxyType(
    {
        "smoke": Sizes(1, 0.05, grid_runs=1, gpu_runs=2, **_SMOKE),
        "quick": Sizes(5, 2.0),
        "tiny": Sizes(9, 5.0, memory_steps=10_000, grid_steps=200, grid_runs=3),
    }
)


def encoder_folder(name: str) -> str:
    """What Config.encoder has to be for layers x width.

    "2x128" is `tiny`. All others have BERT's proportions, random weights, and `tiny`'s tokenizer.
    """
    if name == "2x128":
        return "tiny"
    folder = cache_folder() / "bench" / name
    if not (folder / "model.safetensors").exists():
        layers, width = map(int, name.split("x"))
        tokenizer = AutoTokenizer.from_pretrained(locate("tiny"))
        tokenizer.save_pretrained(folder)
        settings = BertConfig(
            vocab_size=VOCABULARY.get(name, len(tokenizer)),
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=width // 64,
            intermediate_size=4 * width,
            max_position_embeddings=128,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            BertModel(settings).save_pretrained(folder)
    return str(folder)


def full_text(number: int, tokens: int) -> Path:
    """A file of open sentences joined to `tokens` words, each of which is a token at least."""
    path = cache_folder() / "bench" / f"full-{number}-{tokens}.txt"
    if not path.exists():
        words = iter(" ".join(load_corpus("open", 40_000)["sentence"]).split())
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
