"""Training throughput: our MoCoSE and SimCSE, sentence-transformers' SimCSE, the authors' code."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial

import torch
from transformers import TrainerCallback

from mocose_lib.train import train
from mocose_study.config import Config, vary
from mocose_study.systems import simcse_st
from mocose_study.systems.base import TrainingText, load_encoder, train_system, training_ids
from mocose_study.systems.simcse import SimCSE

from . import floor
from .authors import Checkout
from .clock import Clock, ticking, timed
from .material import LENGTH, Sizes, config_of

MOST_STEPS = 2_000  # of sentence-transformers in a turn: all its sentences are laid out before
Cases = Iterator[tuple[dict, dict[str, Callable[[], dict]]]]  # what a case is, and its turns


def our_mocose(config: Config, clock: Clock, device: str = "cpu") -> None:
    torch.manual_seed(config.seed)
    encoder = load_encoder(config, device)
    text = TrainingText(config, training_ids(config, encoder))
    text.views = ticking(text.views, clock)
    train(encoder, text, config, bar=False)


def our_simcse(config: Config, clock: Clock) -> None:
    torch.manual_seed(config.seed)
    encoder = load_encoder(config, "cpu")
    system = SimCSE(config, encoder, SimCSE.inputs(config, encoder))
    system.batch_loss = ticking(system.batch_loss, clock)
    train_system(config, system, bar=False)


class _Ticks(TrainerCallback):
    def __init__(self, clock: Clock):
        self.clock = clock

    def on_step_begin(self, arguments, state, control, **_):
        self.clock.step()


def their_simcse(config: Config, clock: Clock) -> None:
    """sentence-transformers, with its trainer and MultipleNegativesRankingLoss."""
    half = torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bf16")
    asked = dict(method="simcse_reference", mlp="never", selection="last", precision="float32")
    config = vary(config, steps=MOST_STEPS, **asked)
    encoder = load_encoder(config, "cpu")
    model = simcse_st.make_model(config, encoder)
    data = simcse_st.inputs(config, encoder)
    with tempfile.TemporaryDirectory() as folder, half:
        trainer = simcse_st.make_trainer(config, model, data, folder, bar=False)
        trainer.add_callback(_Ticks(clock))
        trainer.train()


def at_peak(config: Config, seconds: float, device: str = "cpu") -> dict[str, float]:
    """Seconds of a MoCoSE step's matrix products at the machine's peak."""
    found = floor.step_flops(config, load_encoder(config, "cpu"), LENGTH)
    return {"seconds": found / floor.peak(config.precision, seconds, device)}


def cases(sizes: Sizes, precisions: tuple[str, ...], authors: Checkout | None) -> Cases:
    """The turns of every encoder and text.

    "full": all sentences fill `LENGTH` tokens, nobody has padding. "natural": sentences as they
    come, in batches of one length (ours, its default) or mixed and padded (all others).
    """
    for encoder in sizes.encoders:
        for text in sizes.texts:
            turns = {}
            for precision in precisions:
                ours = config_of(encoder, text, precision, sizes.sentences)
                mixed = vary(ours, batch_lengths="mixed")
                loops = {
                    f"MoCoSE {precision}": partial(our_mocose, ours),
                    f"SimCSE {precision}": partial(our_simcse, vary(ours, method="simcse")),
                    f"sentence-transformers SimCSE {precision}": partial(their_simcse, mixed),
                }
                if precision == "float32":
                    slow = vary(mixed, fast=False)
                    loops["MoCoSE without fast forms"] = partial(our_mocose, slow)
                turns |= {name: partial(timed, f, sizes.seconds) for name, f in loops.items()}
                if text == "full":
                    turns[f"floor {precision}"] = partial(at_peak, ours, sizes.seconds)
                if authors and precision == "float32":
                    published = vary(mixed, fgsm_epsilon=5e-9, fgsm_gradient="stale")
                    turns["authors' code"] = partial(authors.timed, published, sizes.seconds)
            yield {"encoder": encoder, "text": text, "batch": ours.batch_size}, turns
