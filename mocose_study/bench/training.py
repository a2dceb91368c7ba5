"""Training throughput: our MoCoSE and SimCSE, sentence-transformers' SimCSE, the plain loop."""

import tempfile
from collections.abc import Iterator

import torch
from transformers import TrainerCallback

from mocose_study.config import Config, vary
from mocose_study.data.corpora import column, load_corpus
from mocose_study.systems import simcse, simcse_st
from mocose_study.systems.base import load_encoder, train_system, training_ids
from mocose_lib.train import train
from mocose_study.bench import floor, plain
from mocose_study.bench.clock import Clock, Watched, in_turns, timed
from mocose_study.bench.material import LENGTH, config_of
from mocose_study.bench.sizes import Sizes

MOST_STEPS = 2_000  # of sentence-transformers in a turn: all its sentences are laid out before


def our_mocose(config: Config, clock: Clock, device: str = "cpu") -> None:
    encoder = _encoder(config, device)
    train(config, encoder, Watched(training_ids(config, encoder), clock), bar=False)


def our_simcse(config: Config, clock: Clock) -> None:
    config = vary(config, method="simcse", mlp="never")
    encoder = _encoder(config)
    ids = training_ids(config, encoder)
    system, table = simcse.SimCSE(encoder, config), Watched(ids, clock)

    def loss(rows, generator):
        found = table[rows]["input_ids"]
        return system.loss(found, found, generator)

    train_system(config, system, loss, column(ids, "length"), bar=False)


def plain_mocose(config: Config, clock: Clock) -> None:
    encoder = _encoder(config)
    sentences = list(load_corpus(config.corpus, config.corpus_size)["sentence"])
    lengths = column(training_ids(config, encoder), "length")
    for _ in plain.losses(config, encoder, sentences, lengths):
        clock.step()


class _Ticks(TrainerCallback):
    def __init__(self, clock: Clock):
        self.clock = clock

    def on_step_begin(self, arguments, state, control, **_):
        self.clock.step()


def their_simcse(config: Config, clock: Clock) -> None:
    """sentence-transformers, with its trainer and MultipleNegativesRankingLoss."""
    half = torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bf16")
    config = vary(
        config, method="simcse_reference", mlp="never", selection="last", steps=MOST_STEPS,
        precision="float32")  # fmt: skip
    model = simcse_st.make_model(config, "cpu").float()
    lengths = column(training_ids(config, load_encoder(config, "cpu")), "length")
    data = simcse_st.pairs(config, lengths)
    with tempfile.TemporaryDirectory() as folder, half:
        trainer = simcse_st.make_trainer(config, model, data, folder, "cpu", bar=False)
        trainer.add_callback(_Ticks(clock))
        trainer.train()


def _encoder(config: Config, device: str = "cpu"):
    torch.manual_seed(config.seed)
    return load_encoder(config, device)


def cases(sizes: Sizes, precisions: tuple[str, ...]) -> Iterator[tuple[dict, dict]]:
    """(what a case is, its competitors: name -> function that times one turn).

    "full": all sentences fill `LENGTH` tokens, nobody has padding. "natural": sentences as they
    come, in batches of one length (ours, its default) or mixed and padded (theirs, and plain).
    """
    for encoder in sizes.encoders:
        for text in sizes.texts:
            loops = {}
            for precision in precisions:
                ours = config_of(encoder, text, precision, sizes.sentences)
                theirs = vary(ours, batch_lengths="mixed")
                loops |= {
                    f"MoCoSE {precision}": (our_mocose, ours),
                    f"SimCSE {precision}": (our_simcse, ours),
                    f"sentence-transformers SimCSE {precision}": (their_simcse, theirs),
                }
                if precision == "float32":
                    published = vary(theirs, fgsm_epsilon=5e-9, fgsm_gradient="stale")
                    loops["plain MoCoSE float32"] = (plain_mocose, published)
            turns = {
                name: lambda loop=loop, config=config: timed(
                    lambda clock: loop(config, clock), sizes.seconds)
                for name, (loop, config) in loops.items()
            }  # fmt: skip
            if text == "full":
                for precision in precisions:
                    turns |= floors(config_of(encoder, text, precision, 300), sizes.seconds)
            yield {"encoder": encoder, "text": text, "batch": ours.batch_size}, turns


def floors(config: Config, seconds: float) -> dict:
    """Turns that time the matrix products of a MoCoSE step alone, three ways."""
    encoder, precision = load_encoder(config, "cpu"), config.precision
    needed, whole = (
        floor.step_products(config, encoder, LENGTH, first_token) for first_token in (True, False)
    )

    def at_peak():
        best = floor.peak(precision, seconds)
        found = {"seconds": floor.flops(needed) / best, "whole": floor.flops(whole) / best}
        return found | {"peak": best}

    return {
        f"floor {precision}": at_peak,
        f"products {precision}": lambda: {"seconds": floor.seconds_of(needed, precision)},
    }


def measure(sizes: Sizes, precisions: tuple[str, ...], bar) -> list[dict]:
    """A row a turn: the case, system, repeat, and seconds a step."""
    return [
        {**case, **row}
        for case, turns in cases(sizes, precisions)
        for row in in_turns(turns, sizes.repeats, bar)
    ]


def turns(sizes: Sizes, precisions: tuple[str, ...]) -> int:
    """How many turns `measure` takes."""
    per_case = 3 * len(precisions) + 1
    floors = 2 * len(precisions) * ("full" in sizes.texts)
    return sizes.repeats * len(sizes.encoders) * (per_case * len(sizes.texts) + floors)
