"""Training throughput: ours beside sentence-transformers, the authors' code, and the floor.

First comes what all parts share: how much is measured, and on which encoders and sentences.
"""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import cycle, islice, product
from pathlib import Path
from types import SimpleNamespace

import torch
from transformers import AutoTokenizer

from mocose_lib import InputError
from mocose_study.config import Config, read_toml, vary
from mocose_study.config.profiles import PRETRAINING, PretrainConfig
from mocose_study.data.atomic import write_atomically
from mocose_study.data.corpora import load_corpus, tokenized
from mocose_study.data.encoders import locate
from mocose_study.data.files import cache_folder
from mocose_study.fast.processor import keep_freed_memory
from mocose_study.pretraining.masking import Batches
from mocose_study.pretraining.pretrain import Pretraining, new_model
from mocose_study.systems import METHODS
from mocose_study.systems.base import Fitted, load_encoder, training_ids

from .clock import Cases, apart, flops, peak, timed

LENGTH = 32  # tokens a sentence, at most
BASE = "12x768"  # BERT-base
BASE_WORDS = 30_522  # its vocabulary, though `tiny`'s tokenizer uses a part of it alone
OPEN = 40_000  # sentences of the corpus "open"
MOST_STEPS = 2_000  # of sentence-transformers in a turn: all its sentences are laid out before
Sizes = SimpleNamespace  # a table of sizes.toml
STEP = Path(__file__).with_name("authors_step.py")
SHAPE = "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size".split()
_READ = read_toml(__package__, "sizes")
SIZES = {name: Sizes(**_READ["quick"] | table) for name, table in _READ.items()}


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
        words = BASE_WORDS if name == BASE else len(tokenizer)
        new_model(pretraining_of(name, vocab_size=words)).bert.save_pretrained(folder)
    return str(folder)


def full_text(number: int, tokens: int) -> Path:
    """A file of open sentences joined to `tokens` words, each of which is a token at least."""
    path = cache_folder() / "bench" / f"full-{number}-{tokens}.txt"
    if not path.exists():
        words = cycle(" ".join(load_corpus("open", OPEN)["sentence"]).split())
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


def fit(config: Config, device: str = "cpu") -> Fitted:
    return METHODS[config.method](config, device=device, bar=False)


def their_simcse(config: Config) -> None:
    """sentence-transformers, with its trainer and MultipleNegativesRankingLoss."""
    asked = dict(method="simcse_reference", selection="last", precision="float32")
    with torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bf16"):
        fit(vary(config, steps=MOST_STEPS, **asked))


def pretrain_steps(config: PretrainConfig) -> None:
    """Steps of a pre-training on open sentences: pairs and single ones in turn."""
    keep_freed_memory()
    tokenizer = AutoTokenizer.from_pretrained(locate("tiny"))
    text = tokenized(load_corpus("open", OPEN), tokenizer, None)
    training, batches = Pretraining(config, "cpu"), Batches(config, text)
    while True:
        training.step(batches.batch(training.record["step"]))


@cache
def step_flops(config: Config | PretrainConfig) -> float:
    """Operations of a training step's products: of MoCoSE with a full queue, or of pre-training.

    They are counted on a step on the CPU in float32. Precision and device change none of them.
    """
    if isinstance(config, PretrainConfig):
        return flops(2, pretrain_steps, replace(config, bf16=False))
    full = vary(config, queue_init=config.queue_size, precision="float32")
    return flops(1, fit, full)


def at_peak(config, precision: str, seconds: float, device: str = "cpu") -> dict[str, float]:
    """Seconds of a step's products at the machine's peak."""
    return {"seconds": step_flops(config) / peak(precision, seconds, device)}


def authors_step(folder: Path, config: Config, seconds: float) -> dict[str, float]:
    """Seconds a step of the authors' own code, a checkout in `folder`.

    It runs with the versions of the checkout's .venv, else with ours. All sentences are padded to
    the greatest length. Raises InputError when the code fails, with its last line.
    """
    encoder = load_encoder(config, "cpu")
    ids = {"input_ids": training_ids(config, encoder)["input_ids"][:]}
    padded = encoder.tokenizer.pad(ids, padding="max_length", max_length=config.max_length)
    request = {
        "encoder": {name: getattr(encoder.model.config, name) for name in SHAPE},
        "ids": padded["input_ids"],
        "padding": encoder.tokenizer.pad_token_id,
        "seconds": seconds,
        "config": asdict(config),
    }
    own = folder.resolve() / ".venv" / "bin" / "python"
    command, text = [own if own.exists() else sys.executable, STEP], json.dumps(request)
    found = subprocess.run(command, input=text, cwd=folder, capture_output=True, text=True)
    if found.returncode:
        last = (found.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"the authors' code failed: {last}; see the recipe in 90_speed.")
    return json.loads(found.stdout.splitlines()[-1])


def cases(sizes: Sizes, precisions: tuple[str, ...], checkout: Path | None) -> Cases:
    """The turns of every encoder and text.

    "full": all sentences fill LENGTH tokens, nobody has padding. "natural": sentences as they
    come, in batches of one length (ours, its default) or mixed and padded (all others).
    """
    for encoder, text in product(sizes.encoders, sizes.texts):
        turns, step = {}, partial(timed, sizes.seconds)
        for precision in precisions:
            ours = config_of(encoder, text, precision, sizes.sentences)
            mixed = vary(ours, batch_lengths="mixed")
            turns[f"MoCoSE {precision}"] = partial(step, fit, ours)
            turns[f"SimCSE {precision}"] = partial(step, fit, vary(ours, method="simcse"))
            turns[f"sentence-transformers SimCSE {precision}"] = partial(step, their_simcse, mixed)
            if precision == "float32":
                turns["MoCoSE without fast forms"] = partial(step, fit, vary(mixed, fast=False))
            if text == "full":
                turns[f"floor {precision}"] = partial(at_peak, ours, precision, sizes.seconds)
            if checkout and precision == "float32":
                published = vary(mixed, fgsm_epsilon=5e-9, fgsm_gradient="stale")
                turns["authors' code"] = partial(authors_step, checkout, published, sizes.seconds)
        yield {"encoder": encoder, "text": text, "batch": ours.batch_size}, turns


def pretraining(sizes: Sizes, precisions: tuple[str, ...]) -> Cases:
    """A step of every encoder in every precision, each in a process of its own, and its floor."""
    for encoder in sizes.encoders:
        turns = {}
        for precision in precisions:
            config = pretraining_of(encoder, bf16=precision == "bf16")
            step = partial(timed, sizes.seconds, pretrain_steps, config)
            turns[f"pre-training {precision}"] = partial(apart, step)
            turns[f"floor {precision}"] = partial(at_peak, config, precision, sizes.seconds)
        yield {"encoder": encoder, "tokens": config.tokens_per_batch}, turns
