"""Training: one visible loop over views -> query, keys -> loss -> step -> EMA -> enqueue."""

import contextlib
from pathlib import Path

import torch
from torch import Tensor

from . import augment, staleness, sts, text_augment
from .config import Config
from .data import column
from .ema import decay_at, update_ema
from .encoder import Encoder
from .learner import Learner, Progress, optimise
from .loss import info_nce
from .model import Branch, View, target_of
from .negatives import NegativeQueue
from .token_augment import shortened


class Training(Learner):
    """A MoCoSE in training: what every learner has, the target branch and the queue."""

    parts = (*Learner.parts, "target", "queue")
    values = (*Learner.values, "recent", "stale_gradient")

    def __init__(self, config: Config, encoder: Encoder):
        torch.manual_seed(config.seed)
        online = Branch(encoder, config)
        self.target = target_of(online, config).train(config.target_dropout)
        online.train()  # after the target: what the two share keeps its dropout
        trained_too = [p for p in self.target.projection.parameters() if p.requires_grad]
        super().__init__(config, online, encoder, list(encoder.model.parameters()), trained_too)
        self.queue = NegativeQueue(
            config.queue_size, online.dim, config.queue_init, self.generator,
            config.queue_growth, encoder.device)  # fmt: skip
        self.recent: list[tuple[Tensor, Tensor]] = []  # batches behind the queue, newest first
        self.stale_gradient: Tensor | None = None

    @property
    def encode(self) -> sts.Encode:
        return encode_as(self.config, self.scored)

    def finish(self) -> None:
        if self.recent:
            self.progress.staleness = staleness_of(self)
        super().finish()


def make_view(branch: Branch, ids: Tensor, mask: Tensor, config: Config, generator) -> View:
    """Word embeddings with the vector-level augmentations of `config`, FGSM excepted."""
    return View(*distorted(branch.encoder.words(ids), mask, config, generator))


def distorted(words: Tensor, mask: Tensor, config: Config, generator):
    """(words, mask, positions) after cut-offs and shuffle; positions is None without shuffle."""
    words = augment.token_cutoff(words, mask, config.token_cutoff, generator)
    words = augment.feature_cutoff(words, config.feature_cutoff, generator)
    shuffled = augment.shuffled_positions(mask, generator) if config.position_shuffle else None
    return words, mask, shuffled


def encode_as(config: Config, encoder: Encoder) -> sts.Encode:
    """The function that is scored: `encoder.encode`, or, where the published code's defect is
    switched on (`augment_at_evaluation`), the same under shuffle and cut-offs."""
    if not config.augment_at_evaluation:
        return encoder.encode

    def encode(sentences):
        generator = torch.Generator().manual_seed(config.seed)
        return encoder.encode(
            sentences, distort=lambda words, mask: distorted(words, mask, config, generator)
        )

    return encode


def contrast(query: Tensor, keys: Tensor, negatives: Tensor, config: Config) -> Tensor:
    return info_nce(
        query, keys, negatives, config.temperature, config.similarity, config.batch_negatives
    )


def current_gradient(t: Training, ids: Tensor, mask: Tensor, negatives: Tensor) -> Tensor:
    """Gradient of the loss at the online branch's word embeddings of this batch (eq. 1)."""
    view = make_view(t.online, ids, mask, t.config, t.generator)
    view.words = view.words.detach().requires_grad_()
    with torch.no_grad():
        keys = t.target(make_view(t.target, ids, mask, t.config, t.generator))
    loss = contrast(t.online(view), keys, negatives, t.config)
    return torch.autograd.grad(loss, view.words)[0]


def perturb(t: Training, views: list[View], ids: Tensor, mask: Tensor, negatives: Tensor) -> None:
    """Adds FGSM noise to the views; with the last step's gradient in the "stale" variant."""
    if t.config.fgsm_epsilon == 0:
        return
    if t.config.fgsm_gradient == "current":
        gradient = current_gradient(t, ids, mask, negatives)
    else:
        gradient = t.stale_gradient
        if gradient is not None:
            gradient = augment.fit(gradient, views[0].words.shape)
        if views[0].words.requires_grad:  # not while the heads are trained alone
            views[0].words.register_hook(lambda g: setattr(t, "stale_gradient", g.detach()))
    for view in views:
        view.words = augment.fgsm(view.words, gradient, t.config.fgsm_epsilon)


def negatives_of(t: Training) -> Tensor:
    """The queue's negatives; "latest" encodes their sentences anew with the present target."""
    if t.config.queue_keys == "latest" and t.recent:
        views = (make_view(t.target, *batch, t.config, t.generator) for batch in t.recent)
        t.queue.refresh(torch.cat([t.target(view) for view in views]))
    return t.queue.negatives(t.config.negatives_slice)


def remember(t: Training, ids: Tensor, mask: Tensor) -> None:
    if t.config.queue_size:
        t.recent = [(ids, mask), *t.recent][: -(-t.config.queue_size // t.config.batch_size)]


def train(
    config: Config,
    encoder: Encoder,
    token_ids,
    checkpoint: Path | None = None,
    bar: bool = True,
) -> Progress:
    """Trains `encoder` in place as MoCoSE and leaves in it the chosen checkpoint.

    `token_ids` is a Dataset with columns input_ids and length, and, where a view has text of its
    own, query_ids and key_ids (`text_augment.views`). With `checkpoint`, an interrupted
    run goes on from that file, to exactly the numbers of an unbroken one; the caller deletes it.
    Raises FloatingPointError when the loss is no longer finite.
    """
    t = Training(config, encoder)
    half = config.precision == "bf16"
    autocast = torch.autocast(encoder.device.type, torch.bfloat16, enabled=half)
    for step, rows in t.steps(column(token_ids, "length"), checkpoint, bar):
        texts = shortened(*text_augment.views(token_ids[rows]), config, t.generator)
        both = [encoder.pad(ids) for ids in texts]
        if config.ema_moment == "before_forward":
            update_ema(t.target, t.online, decay_at(step, config))
        with autocast:
            with torch.no_grad():
                negatives = negatives_of(t)
            views = [make_view(branch, *batch, config, t.generator)
                     for branch, batch in zip((t.online, t.target), both, strict=True)]  # fmt: skip
            perturb(t, views, *both[0], negatives)
            query = t.online(views[0])  # (batch, dim)
            with torch.no_grad() if config.detach_keys else contextlib.nullcontext():
                keys = t.target(views[1])  # (batch, dim)
            loss = contrast(query, keys, negatives, config)
        optimise(t, loss)
        if config.ema_moment == "after_step":
            update_ema(t.target, t.online, decay_at(step, config))
        t.queue.enqueue(keys, step)
        remember(t, *both[1])
    return t.progress


@torch.no_grad()
def staleness_of(t: Training) -> dict:
    """How far the queued keys have drifted from what the present target gives, by age.

    Draws from random streams of its own: the run goes on as if nothing had been measured.
    """
    generator = torch.Generator().manual_seed(t.config.seed)
    with torch.random.fork_rng():
        passes = [
            torch.cat([t.target(make_view(t.target, *b, t.config, generator)) for b in t.recent])
            for _ in range(2)
        ]
    ages = t.queue.ages(t.progress.step)
    n = min(len(passes[0]), len(ages))
    keys = [x[:n].float().cpu().numpy() for x in (t.queue.keys, *passes)]
    return staleness.summary(*keys, ages[:n].numpy(), t.config.ema_decay, t.config.batch_size)
