"""What stands before a section's runs: pre-training, laying out the text, and a run's start."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from transformers import AutoTokenizer

from mocose_lib import Encoder, evaluate
from mocose_study.config.profiles import PRETRAINING, PretrainConfig
from mocose_study.data import benchmarks, tokens
from mocose_study.data.corpora import BATCH, load_corpus, tokenized
from mocose_study.data.encoders import locate
from mocose_study.data.sources import folder
from mocose_study.fast.memory import keep_freed_memory
from mocose_study.pretraining.masking import Batches
from mocose_study.pretraining.pretrain import Pretraining

from .clock import Clock, timed
from .floor import Product, encoder_products, peak
from .material import Sizes
from .parts import processes
from .training import Cases

TEXT = {"open": 40_000, "wiki900k": 900_000}  # sentences of the corpora that are laid out


def pretrain_steps(config: PretrainConfig, clock: Clock) -> None:
    """Steps of a pre-training, on open sentences."""
    keep_freed_memory()
    tokenizer = AutoTokenizer.from_pretrained(locate("tiny"))
    text = tokenized(load_corpus("open", TEXT["open"]), tokenizer, None)
    t, batches = Pretraining(config, "cpu"), Batches(config, text)
    while True:
        clock.step()
        t.step(batches.batch(t.record["step"]))


def step_flops(config: PretrainConfig) -> float:
    """Operations of a step's products, mean over its two shapes: pairs and single sentences."""
    width, masked = config.hidden_size, int(config.masked * config.tokens_per_batch)
    shape = Pretraining(config, "cpu").model.config
    products = [Product(1, masked, width, width, 3), Product(1, masked, width, shape.vocab_size, 3)]
    found = sum(product.flops for product in products)
    for length in (config.sentence_length, 2 * config.sentence_length):
        rows = config.tokens_per_batch // length
        body = encoder_products(shape, rows, length, 3, first_token=False)
        found += sum(product.flops for product in body) / 2
    return found


def at_peak(config: PretrainConfig, precision: str, seconds: float) -> dict[str, float]:
    return {"seconds": step_flops(config) / peak(precision, seconds)}


def pretraining(sizes: Sizes, precisions: tuple[str, ...]) -> Cases:
    """A step of every encoder in every precision, each in a process of its own, and its floor."""
    for name in sizes.encoders:
        layers, width = map(int, name.split("x"))
        shape = {"layers": layers, "hidden_size": width, "attention_heads": width // 64}
        turns: dict[str, Callable[[], dict]] = {}
        for precision in precisions:
            config = replace(PRETRAINING["tiny"], bf16=precision == "bf16", **shape)
            step = partial(timed, partial(pretrain_steps, config), sizes.seconds)
            turns[f"pre-training {precision}"] = partial(_apart, step)
            turns[f"floor {precision}"] = partial(at_peak, config, precision, sizes.seconds)
        yield {"encoder": name, "tokens": config.tokens_per_batch}, turns


def _apart(call: Callable[[], dict]) -> dict:
    return processes(1, call)[0]


def start() -> list[dict]:
    """what, seconds: the text laid out once, and what a run does before its first step."""
    tokenizer, found = AutoTokenizer.from_pretrained(locate("tiny")), []
    for name, size in TEXT.items():
        if name == "open" or folder():
            corpus, ids_of = load_corpus(name, size), tokens.token_ids(tokenizer, 32)
            begun = time.perf_counter()
            for batch in corpus.iter(BATCH):
                ids_of(batch["sentence"])
            found.append({"what": f"{size:,} sentences", "seconds": time.perf_counter() - begun})
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mocose_study.runs.run"], check=True)
    found.append({"what": "imports", "seconds": time.perf_counter() - begun})
    return found + processes(1, _warm)[0]


def _warm() -> list[dict]:
    """A run's encoder, text and first evaluation, once all of them are in the cache."""
    name, begun = "real" if folder() else "open", time.perf_counter()
    encoder = Encoder.load(locate("tiny"))
    tokenized(load_corpus("open", TEXT["open"]), encoder.tokenizer, 32)
    loaded = time.perf_counter()
    evaluate(encoder.encode, benchmarks.dev_tables(name))
    rows = {"encoder and text": loaded - begun, "first evaluation": time.perf_counter() - loaded}
    return [{"what": what, "seconds": seconds} for what, seconds in rows.items()]
