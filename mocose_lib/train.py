"""MoCoSE's training loop: views -> query, keys -> loss -> step -> EMA -> enqueue.

MoCoSE: Cao et al., Findings of ACL 2022, equations 1 to 3 and Algorithm 1.
"""

import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from .augment import make_view
from .batches import batches
from .ema import decay_at, update_ema
from .encoder import Encoder, make_identity
from .evaluation import staleness
from .fgsm import FGSM
from .loss import info_nce
from .model import Branch, target_of
from .queue import NegativeQueue
from .settings import Settings
from .trainer import Measure, Progress, Trainer

Ids = list[list[int]]
STALENESS_AT = (0.25, 0.5, 0.75)  # shares of the training at which the queue's age is measured


class Text(Protocol):
    """Training sentences as token ids."""

    lengths: np.ndarray  # of all sentences, in tokens

    def views(self, rows: np.ndarray, generator: torch.Generator) -> tuple[Ids, Ids]:
        """Token ids of query and key for every row of a batch."""


class Sentences:
    """Plain sentences as `Text`: query and key are the same tokens."""

    def __init__(self, encoder: Encoder, sentences: Sequence[str], max_length: int):
        self.ids = encoder.tokenize(sentences, max_length)
        self.lengths = np.array([len(ids) for ids in self.ids])

    def views(self, rows: np.ndarray, generator: torch.Generator) -> tuple[Ids, Ids]:
        ids = [self.ids[row] for row in rows]
        return ids, ids


class MoCoSE(Trainer):
    """A MoCoSE in training: what every trainer has, the target branch, the queue, and FGSM."""

    def __init__(self, settings: Settings, encoder: Encoder):
        torch.manual_seed(settings.seed)
        online = Branch(encoder, settings)
        self.target = target_of(online, settings).train(settings.target_dropout)
        online.train()  # after the target: what the two share keeps its dropout
        trained_too = [p for p in self.target.projection.parameters() if p.requires_grad]
        super().__init__(settings, online, encoder, list(encoder.model.parameters()), trained_too)
        self.queue = NegativeQueue(
            settings.queue_size, online.dim, settings.queue_init, self.generator,
            settings.queue_growth, encoder.device)  # fmt: skip
        self.fgsm = FGSM(settings.fgsm_epsilon, settings.fgsm_gradient)
        self.recent: list[tuple[Tensor, Tensor]] = []  # batches behind the queue, newest first

    def state(self) -> dict:
        return super().state() | {
            "target": self.target.state_dict(),
            "queue": self.queue.state_dict(),
            "gradient": self.fgsm.gradient,
            "recent": self.recent,
        }

    def load(self, state: dict) -> None:
        super().load(state)
        self.target.load_state_dict(state["target"])
        self.queue.load_state_dict(state["queue"])
        self.fgsm.gradient, self.recent = state["gradient"], state["recent"]


def train(
    encoder: Encoder,
    sentences: Sequence[str] | Text,
    settings: Settings | None = None,
    *,
    evaluate: Measure | None = None,
    choose: bool = True,
    probe: Measure | None = None,
    checkpoint: Path | None = None,
    bar: bool = True,
) -> Progress:
    """Trains `encoder` in place as MoCoSE and leaves the chosen weights in it.

    `evaluate(step)` returns numbers by name. With `choose` the weights with the highest "score"
    are kept, else the last ones. `probe(step)` is called every `probe_every` steps. With
    `checkpoint`, an interrupted training goes on from that file to exactly the numbers of an
    unbroken one; the caller deletes the file. Raises InputError when the sentences do not fill a
    batch, and FloatingPointError when the loss is no longer finite.
    """
    settings = settings or Settings()
    text = sentences
    if not hasattr(text, "views"):
        if settings.head_init == "identity" and encoder.pooling != "cls_pooler":
            make_identity(encoder.pooler)
        text = Sentences(encoder, sentences, settings.max_length)
    t = MoCoSE(settings, encoder)
    t.resume(checkpoint)
    t.probe_if_due(probe if t.progress.step == 0 else None)
    autocast = torch.autocast(
        encoder.device.type, torch.bfloat16, enabled=settings.precision == "bf16"
    )
    rows = batches(text.lengths, settings, start=t.progress.step)
    for step in t.steps("mocose", bar):
        ids = text.views(next(rows), t.generator)
        padded = [encoder.pad(side) for side in ids]
        if settings.ema_moment == "before_forward":
            update_ema(t.target, t.online, decay_at(step, settings))
        with autocast:
            # negatives: the queue, or a part of it
            if settings.queue_keys == "latest":
                encode_queue_anew(t)
            negatives = t.queue.negatives(settings.negatives_slice)
            # two views: word embeddings under cut-offs, shuffle and FGSM
            views = [make_view(branch, *side, settings, t.generator)
                     for branch, side in zip((t.online, t.target), padded, strict=True)]  # fmt: skip
            sides = padded[:1] if ids[0] == ids[1] else padded
            t.fgsm.perturb(views, [partial(fgsm_probe, t, *side, negatives) for side in sides])
            # query and keys
            query = t.online(views[0])  # (batch, dim)
            with torch.no_grad() if settings.detach_keys else contextlib.nullcontext():
                keys = t.target(views[1])  # (batch, dim)
            # loss
            loss = contrast(query, keys, negatives, settings)
        # step of the online branch
        t.optimise(loss, step)
        # the target follows
        if settings.ema_moment == "after_step":
            update_ema(t.target, t.online, decay_at(step, settings))
        # the keys enter the queue
        t.queue.enqueue(keys, step)
        keep_recent(t, *padded[1])
        # measure, choose, save
        if settings.queue_size and step in [int(share * settings.steps) for share in STALENESS_AT]:
            t.progress.staleness.append({"step": step, **staleness_of(t)})
        t.probe_if_due(probe)
        t.evaluate_if_due(evaluate, choose)
        t.save_if_due(checkpoint)
    t.restore_best()
    return t.progress


def contrast(query: Tensor, keys: Tensor, negatives: Tensor, settings: Settings) -> Tensor:
    """InfoNCE with the temperature, similarity and negatives of `settings`."""
    return info_nce(
        query, keys, negatives, settings.temperature, settings.similarity, settings.batch_negatives
    )


def fgsm_probe(t: MoCoSE, ids: Tensor, mask: Tensor, negatives: Tensor):
    """A fresh view of the query sentences, and its loss against fresh keys of the same ones."""
    view = make_view(t.online, ids, mask, t.settings, t.generator)
    with torch.no_grad():
        keys = t.target(make_view(t.target, ids, mask, t.settings, t.generator))
    return view, lambda moving: contrast(t.online(moving), keys, negatives, t.settings)


@torch.no_grad()
def encode_queue_anew(t: MoCoSE) -> None:
    """Replaces the queue's keys by what the present target gives for the same sentences."""
    if t.recent:
        views = (make_view(t.target, *batch, t.settings, t.generator) for batch in t.recent)
        t.queue.refresh(torch.cat([t.target(view) for view in views]))


def keep_recent(t: MoCoSE, ids: Tensor, mask: Tensor) -> None:
    """Keeps the token ids behind the queue's keys, as many batches as the queue holds."""
    if t.settings.queue_size:
        batches_kept = -(-t.settings.queue_size // t.settings.batch_size)
        t.recent = [(ids, mask), *t.recent][:batches_kept]


@torch.no_grad()
def staleness_of(t: MoCoSE) -> dict:
    """How far the queued keys have drifted from what the present target gives, by age.

    Draws from random streams of its own: the training goes on as if nothing had been measured.
    """
    generator = torch.Generator().manual_seed(t.settings.seed)
    with torch.random.fork_rng():
        passes = [
            torch.cat([t.target(make_view(t.target, *b, t.settings, generator)) for b in t.recent])
            for _ in range(2)
        ]
    ages = t.queue.ages(t.progress.step)
    n = min(len(passes[0]), len(ages))
    keys = [x[:n].float().cpu().numpy() for x in (t.queue.keys, *passes)]
    return staleness.summary(*keys, ages[:n].numpy(), t.settings.ema_decay, t.settings.batch_size)
