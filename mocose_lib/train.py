"""MoCoSE's step, Algorithm 1: views -> query, keys -> loss -> step -> EMA -> enqueue."""

from collections.abc import Iterable
from functools import partial

import numpy as np
import torch
from torch import Generator, Tensor

from .augment import distorted
from .ema import decay_at, update_ema
from .encoder import Encoder
from .evaluation import staleness
from .fgsm import FGSM
from .heads import stream
from .loss import info_nce
from .model import Branch, View, target_of
from .queue import NegativeQueue
from .settings import InputError, Settings
from .shapes import Ids, Mask
from .trainer import Checkpoint, Measure, Progress, SingleProcess, Trainer

Tokens = list[list[int]]  # token ids of every sentence
STALENESS_AT = (
    0.25,
    0.5,
    0.75,
)  # shares of the training at which the queue's age is measured


class Text:
    """Training sentences as token ids; `lengths` holds their lengths in tokens."""

    def __init__(self, encoder: Encoder, sentences: Iterable[str], settings: Settings):
        if settings.max_length > (most := encoder.positions):
            raise InputError(
                f"max_length = {settings.max_length}, but the encoder reads {most}."
            )
        self.ids = encoder.tokenize(sentences, settings.max_length)
        self.lengths = np.array([len(ids) for ids in self.ids])

    def views(self, rows: np.ndarray, generator: Generator) -> tuple[Tokens, Tokens]:
        """Token ids of query and key for every row of a batch. Here the key's are the query's."""
        ids = [self.ids[row] for row in rows]
        return ids, ids


class MoCoSE(Trainer):
    """A MoCoSE in training: what every trainer has, the target branch, the queue, and FGSM."""

    stateful = (*Trainer.stateful, "target", "queue")
    text: Text

    def __init__(self, settings: Settings, encoder: Encoder):
        torch.manual_seed(settings.seed)  # of dropout
        online = Branch(encoder, settings).to(encoder.device)
        self.target = target_of(online, settings).train(settings.target_dropout)
        online.train()  # after the target: what the two share keeps its dropout
        trained_too = [
            p for p in self.target.projection.parameters() if p.requires_grad
        ]
        super().__init__(settings, online, encoder, trained_too)
        size, init, growth = (
            settings.queue_size,
            settings.queue_init,
            settings.queue_growth,
        )
        fill = stream(settings.seed, "queue")
        self.queue = NegativeQueue(size, online.dim, init, fill, growth, encoder.device)
        self.fgsm = FGSM(settings.fgsm_epsilon, settings.fgsm_gradient)
        self.recent: list[
            tuple[Tensor, Tensor]
        ] = []  # batches behind the queue, newest first

    def step(self, rows: np.ndarray, step: int) -> None:
        train_step(self, *self.text.views(rows, self.generator), step)
        measured_at = [int(share * self.settings.steps) for share in STALENESS_AT]
        if self.settings.queue_size and step in measured_at:
            self.progress.staleness.append({"step": step, **staleness_of(self)})

    def state(self) -> dict:
        return super().state() | {"gradient": self.fgsm.gradient, "recent": self.recent}

    def load(self, state: dict) -> None:
        super().load(state)
        self.fgsm.gradient, self.recent = state["gradient"], state["recent"]


def train(
    encoder: Encoder,
    sentences: Iterable[str] | Text,
    settings: Settings | None = None,
    *,
    evaluate: Measure | None = None,
    choose: bool = True,
    probe: Measure | None = None,
    checkpoint: Checkpoint | None = None,
    bar: bool = True,
    ranks: SingleProcess | None = None,
) -> Progress:
    """Trains `encoder` in place as MoCoSE and leaves the chosen weights in it.

    `evaluate(step)` returns numbers by name. With `choose` the weights with the highest "score"
    are kept, else the last ones. `probe(step)` is called every `probe_every` steps. An interrupted
    training goes on from `checkpoint` to the numbers of an unbroken one; the caller deletes it.
    `sentences` may be a `Text`. `ranks` makes this process one of several. Raises InputError for
    too few sentences or too long ones, and FloatingPointError for a loss that is not finite.
    """
    settings = settings or Settings()
    text = (
        sentences if isinstance(sentences, Text) else Text(encoder, sentences, settings)
    )
    encoder.check_dropout()
    trainer = MoCoSE(settings, encoder)
    trainer.text, trainer.ranks = text, ranks or trainer.ranks
    return trainer.run(
        text.lengths,
        name="mocose",
        evaluate=evaluate,
        choose=choose,
        probe=probe,
        checkpoint=checkpoint,
        bar=bar,
    )


def train_step(
    trainer: MoCoSE, query_tokens: Tokens, key_tokens: Tokens, step: int
) -> None:
    """One step of MoCoSE, from the token ids of query and key for every row of the batch."""
    settings, encoder = trainer.settings, trainer.scored
    trainer.ranks.seed(settings.seed, step)
    query_ids, key_ids = encoder.pad(query_tokens), encoder.pad(key_tokens)
    with torch.autocast(
        encoder.device.type, torch.bfloat16, settings.precision == "bf16"
    ):
        # negatives: the queue, or a part of it
        if settings.queue_keys == "latest" and trainer.recent:
            trainer.queue.refresh(keys_anew(trainer, trainer.generator))
        negatives = trainer.queue.negatives(settings.negatives_slice)
        # two views: word embeddings under cut-offs, shuffle and FGSM
        view = make_view(trainer, trainer.online, *query_ids)
        other = make_view(trainer, trainer.target, *key_ids)
        sides = [query_ids] if query_tokens == key_tokens else [query_ids, key_ids]
        probes = [partial(fgsm_probe, trainer, *side, negatives) for side in sides]
        trainer.fgsm.perturb([view, other], probes)
        # query and keys
        query = trainer.online(view)  # (batch, dim)
        with torch.set_grad_enabled(not settings.detach_keys):
            keys = trainer.target(other)  # (batch, dim)
            every = trainer.ranks.gather(
                keys
            )  # those of all processes, which is one as a rule
        # loss
        loss = contrast(trainer, query, every, negatives)
    # step of the online branch
    trainer.optimise(loss, step)
    # the target follows, ready for the next step
    update_ema(trainer.target, trainer.online, decay_at(step + 1, settings))
    # the keys enter the queue
    trainer.queue.enqueue(torch.cat(every), step)
    trainer.recent = [key_ids, *trainer.recent][
        : -(-settings.queue_size // settings.batch_size)
    ]


def make_view(
    trainer: MoCoSE, branch: Branch, ids: Ids, mask: Mask, generator=None
) -> View:
    """Word embeddings under cut-offs and shuffle: the rows that this process encodes."""
    words, generator = branch.encoder.words(ids), generator or trainer.generator
    return trainer.ranks.own(View(*distorted(words, mask, trainer.settings, generator)))


def contrast(
    trainer: MoCoSE, query: Tensor, every: list[Tensor], negatives: Tensor
) -> Tensor:
    """InfoNCE as the settings say, of this process's queries; `every` has all processes' keys."""
    s, keys = trainer.settings, every[trainer.ranks.rank]
    others = (
        [other for other in every if other is not keys] if s.batch_negatives else []
    )
    negatives = torch.cat([negatives, *others]) if others else negatives
    return info_nce(
        query, keys, negatives, s.temperature, s.similarity, s.batch_negatives
    )


def fgsm_probe(trainer: MoCoSE, ids: Ids, mask: Mask, negatives: Tensor):
    """A fresh view of the sentences, and its loss against fresh keys of the same ones."""
    view = make_view(trainer, trainer.online, ids, mask)
    with torch.no_grad():
        every = trainer.ranks.gather(
            trainer.target(make_view(trainer, trainer.target, ids, mask))
        )
    return view, lambda moving: contrast(
        trainer, trainer.online(moving), every, negatives
    )


@torch.no_grad()
def keys_anew(trainer: MoCoSE, generator: Generator) -> Tensor:
    """What the present target gives for the sentences behind the queue's keys, newest first."""
    views = (
        make_view(trainer, trainer.target, *batch, generator)
        for batch in trainer.recent
    )
    every = (trainer.ranks.gather(trainer.target(view)) for view in views)
    return torch.cat([torch.cat(keys) for keys in every])


def staleness_of(trainer: MoCoSE) -> dict:
    """How far the queued keys have drifted from what the present target gives, by age.

    Draws from random streams of its own: the training goes on as if nothing had been measured.
    """
    generator = stream(trainer.settings.seed, "staleness")
    with torch.random.fork_rng():
        passes = [keys_anew(trainer, generator) for _ in range(2)]
    ages = trainer.queue.ages(trainer.progress.step)
    n = min(len(passes[0]), len(ages))
    keys = [x[:n].float().cpu().numpy() for x in (trainer.queue.keys, *passes)]
    return staleness.drift(*keys, ages[:n].numpy())
