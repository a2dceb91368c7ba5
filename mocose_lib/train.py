"""MoCoSE's step, Algorithm 1: views, query and keys, loss, step, EMA, enqueue."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Generator, Tensor

from .augment import distorted
from .ema import decay_at, update_ema
from .encoder import Encoder, listed
from .fgsm import moved
from .heads import stream
from .loss import info_nce
from .model import Branch, View, target_of
from .queue import NegativeQueue
from .settings import InputError, Settings
from .shapes import Ids, Mask
from .trainer import Progress, Trainer, batches

Tokens = list[list[int]]  # token ids of each sentence


class MoCoSE(Trainer):
    """A MoCoSE in training: online branch, target branch, queue, and FGSM.

    `ids` are the token ids of the training sentences.
    """

    stateful = (*Trainer.stateful, "target", "queue")
    kept = (*Trainer.kept, "gradient", "recent")

    def __init__(self, settings: Settings, encoder: Encoder, ids=()):
        self.ids = ids
        torch.manual_seed(settings.seed)  # of dropout
        online = Branch(encoder, settings).to(encoder.device)
        self.target = target_of(online, settings).train(settings.target_dropout)
        online.train()  # after the target: what the two share keeps its dropout
        projection = self.target.projection.parameters()
        more = [p for p in projection if p.requires_grad]
        super().__init__(settings, online, encoder, more)
        sizes = (settings.queue_size, online.dim, settings.random_keys)
        fill = stream(settings.seed, "queue")
        self.queue = NegativeQueue(*sizes, fill, settings.queue_growth)
        self.queue.to(encoder.device)
        self.gradient: Tensor | None = None  # what a "stale" FGSM uses next
        self.recent: list = []  # (ids, mask) behind the queue's keys, newest first

    def step(self, rows: np.ndarray, step: int) -> None:
        train_step(self, *self.views(rows), step)

    def views(self, rows: np.ndarray) -> tuple[Tokens, Tokens]:
        """Token ids of query and key for the rows of a batch: here the same."""
        ids = [self.ids[row] for row in rows]
        return ids, ids


def train(
    encoder: Encoder,
    sentences: Iterable[str],
    settings: Settings | None = None,
    **options,
) -> Progress:
    """Trains `encoder` in place as MoCoSE and leaves the chosen weights in it.

    `options` are those of `Trainer.run`: evaluate, choose, probe, checkpoint, bar.
    torch's global random state is set. Raises InputError for too few sentences, for
    more tokens than the encoder reads, and where no weight may change or weights are
    not float32; FloatingPointError for a loss that is not finite.
    """
    settings, sentences = settings or Settings(), listed(sentences)
    if len(set(sentences)) < 2:
        few = "these are all the same" if sentences else "there are none"
        raise InputError(f"training needs different sentences; {few}.")
    if not any(p.requires_grad for p in encoder.model.parameters()):
        raise InputError("all weights are frozen; call encoder.requires_grad_(True).")
    if (kind := encoder.model.dtype) != torch.float32:
        raise InputError(f"the weights are {kind}; call encoder.float().")
    if (asked := settings.max_length) > (most := encoder.positions):
        raise InputError(f"max_length = {asked}, but the encoder reads {most}.")
    ids = encoder.tokenize(sentences, asked)
    next(batches(ids, settings))  # too few are said before anything changes
    encoder.check_views(settings)  # before a pooler is drawn
    trainer = MoCoSE(settings, encoder, ids)
    return trainer.run(trainer.ids, name="mocose", **options)


def train_step(
    trainer: MoCoSE, query_tokens: Tokens, key_tokens: Tokens, step: int
) -> None:
    """One step of MoCoSE, from the token ids of query and key of the batch."""
    settings, encoder = trainer.settings, trainer.scored
    trainer.ranks.seed(settings.seed, step)
    query_ids, key_ids = encoder.pad(query_tokens), encoder.pad(key_tokens)
    half = settings.precision == "bf16"
    with torch.autocast(encoder.device.type, torch.bfloat16, half):
        # negatives: the queue, or a part of it
        if settings.queue_keys == "latest" and trainer.recent:
            trainer.queue.refresh(keys_anew(trainer, trainer.generator))
        negatives = trainer.queue.negatives(settings.negatives_slice)
        # two views: word embeddings under cut-offs and FGSM, positions under shuffle
        view = make_view(trainer, trainer.online, *query_ids)
        other = make_view(trainer, trainer.target, *key_ids)
        if epsilon := settings.fgsm_epsilon:  # one gradient for both, if tokens agree
            sides = [query_ids] if query_tokens == key_tokens else [query_ids, key_ids]
            gradients = fgsm_gradients(trainer, view, sides, negatives)
            view.words = moved(view.words, gradients[0], epsilon)
            other.words = moved(other.words, gradients[-1], epsilon)
        # query and keys, the latter of all processes
        query = trainer.online(view)  # (batch, dim)
        with torch.set_grad_enabled(not settings.detach_keys):
            keys = trainer.ranks.gather(trainer.target(other))  # of (batch, dim)
        loss = contrast(trainer, query, keys, negatives)
    # step of the online branch
    trainer.optimise(loss, step)
    # the target follows, ready for the next step
    update_ema(trainer.target, trainer.online, decay_at(step + 1, settings))
    # the keys enter the queue
    trainer.queue.enqueue(torch.cat(keys), step)
    batches = -(-settings.queue_size // settings.batch_size)
    trainer.recent = [key_ids, *trainer.recent][:batches]


def make_view(
    trainer: MoCoSE, branch: Branch, ids: Ids, mask: Mask, generator=None
) -> View:
    """Word embeddings of this process's rows, after cut-offs and shuffle."""
    words, generator = branch.encoder.words(ids), generator or trainer.generator
    return trainer.ranks.own(View(*distorted(words, mask, trainer.settings, generator)))


def contrast(
    trainer: MoCoSE, query: Tensor, keys: list[Tensor], negatives: Tensor
) -> Tensor:
    """InfoNCE as the settings say, of this process's queries; `keys` are of all."""
    s, rank = trainer.settings, trainer.ranks.rank
    if s.batch_negatives and len(keys) > 1:
        negatives = torch.cat([negatives, *keys[:rank], *keys[rank + 1 :]])
    how = (s.temperature, s.similarity, s.batch_negatives)
    return info_nce(query, keys[rank], negatives, *how)


def fgsm_gradients(trainer: MoCoSE, view: View, sides, negatives: Tensor) -> list:
    """The gradients of the loss at the word embeddings of each side's (ids, mask).

    "current" takes them at fresh views of this batch, as the paper says. "stale" takes
    the one that the previous step left at the query's `view`, as their code does.
    """
    if trainer.settings.fgsm_gradient == "stale":
        view.words.requires_grad_()  # also where the embedding layer is frozen
        view.words.register_hook(lambda g: setattr(trainer, "gradient", g.detach()))
        return [trainer.gradient]
    gradients = []
    for ids, mask in sides:
        fresh = make_view(trainer, trainer.online, ids, mask)
        fresh.words = fresh.words.detach().requires_grad_()
        with torch.no_grad():
            other = make_view(trainer, trainer.target, ids, mask)
            keys = trainer.ranks.gather(trainer.target(other))
        loss = contrast(trainer, trainer.online(fresh), keys, negatives)
        gradients += torch.autograd.grad(loss, fresh.words)
    return gradients


@torch.no_grad()
def keys_anew(trainer: MoCoSE, generator: Generator) -> Tensor:
    """The target's present keys for the sentences whose keys are in the queue."""
    keys = []
    for ids, mask in trainer.recent:
        view = make_view(trainer, trainer.target, ids, mask, generator)
        keys += trainer.ranks.gather(trainer.target(view))
    return torch.cat(keys)
