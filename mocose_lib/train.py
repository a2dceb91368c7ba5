"""Training: one visible loop over views -> query, keys -> loss -> step -> EMA -> enqueue."""

import contextlib
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from tqdm.auto import tqdm

from . import augment, staleness, sts
from .config import Config, StudyError
from .data import batches
from .ema import decay_at, update_ema
from .encoder import Encoder
from .files import write_atomically
from .geometry import Probe, collapsed
from .loss import info_nce
from .model import Branch, View, target_of
from .negatives import NegativeQueue

log = logging.getLogger(__name__)
SAVE_SECONDS = 30  # between two checkpoints of an unfinished run


@dataclass
class Progress:
    """What a run has to show so far; plain numbers, part of every checkpoint."""

    step: int = 0
    seconds: float = 0.0
    best_score: float | None = None  # where a checkpoint was chosen by its score
    best_step: int = 0
    collapsed: str | None = None  # since which step, and why
    staleness: dict | None = None  # of the queue at the last step (staleness.summary)
    history: list[dict] = field(default_factory=list)  # step, loss, score, geometry


class Training:
    """Everything a step reads or changes, so that a checkpoint of it is complete."""

    def __init__(self, config: Config, encoder: Encoder):
        self.config = config
        torch.manual_seed(config.seed)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.online = Branch(encoder, config)
        self.target = target_of(self.online, config).train(config.target_dropout)
        self.online.train()  # after the target: what the two share keeps its dropout
        self.queue = NegativeQueue(
            config.queue_size, self.online.dim, config.queue_init, self.generator,
            config.queue_growth, encoder.device)  # fmt: skip
        self.optimizer = make_optimizer(self.online, self.target, config)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, [lambda step, i=i: lr_factor(step, i, config) for i in range(2)]
        )
        self.recent: list[tuple[Tensor, Tensor]] = []  # batches behind the queue, newest first
        self.stale_gradient: Tensor | None = None
        self.best: dict | None = None
        self.progress = Progress()
        self.probe = Probe(encoder, config.benchmark)

    @property
    def encoder(self) -> Encoder:
        return self.online.encoder

    def state(self) -> dict:
        return {
            "config": self.config.to_json(),
            "online": self.online.state_dict(), "target": self.target.state_dict(),
            "queue": self.queue.state_dict(), "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(), "recent": self.recent,
            "stale_gradient": self.stale_gradient, "best": self.best, "progress": self.progress,
            "generator": self.generator.get_state(), "cpu_rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state_all(),
        }  # fmt: skip

    def load(self, state: dict) -> None:
        if state["config"] != self.config.to_json():
            raise StudyError("the checkpoint belongs to another Config; delete it to start anew.")
        for name in ("online", "target", "queue", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(state[name])
        for name in ("recent", "stale_gradient", "best", "progress"):
            setattr(self, name, state[name])
        self.generator.set_state(state["generator"].cpu())
        torch.set_rng_state(state["cpu_rng"].cpu())
        torch.cuda.set_rng_state_all([s.cpu() for s in state["cuda_rng"]])


def make_optimizer(online: Branch, target: Branch, config: Config) -> torch.optim.Optimizer:
    """Two groups: the pre-trained encoder, and the heads (pooler, projection, predictor)."""
    pretrained = list(online.encoder.model.parameters())
    own = {id(p) for p in pretrained}
    heads = [p for p in online.parameters() if id(p) not in own]
    heads += [p for p in target.projection.parameters() if p.requires_grad]
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[config.optimizer]
    groups = [{"params": pretrained, "lr": config.lr}, {"params": heads, "lr": config.head_lr}]
    return kind(groups, weight_decay=config.weight_decay, fused=True)


def lr_factor(step: int, group: int, config: Config) -> float:
    """Linear warm-up, then linear decay to 0; group 0, the encoder, may start later."""
    if group == 0 and step < config.freeze_steps:
        return 0.0
    warm = (step + 1) / config.warmup_steps if step < config.warmup_steps else 1.0
    return min(warm, 1 - step / config.steps)


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
        views[0].words.register_hook(lambda found: setattr(t, "stale_gradient", found.detach()))
    for view in views:
        view.words = augment.fgsm(view.words, gradient, t.config.fgsm_epsilon)


def negatives_of(t: Training) -> Tensor:
    """The queue's negatives; "latest" encodes their sentences anew with the present target."""
    if t.config.queue_keys == "latest" and t.recent:
        fresh = [t.target(make_view(t.target, ids, mask, t.config, t.generator)) for ids, mask in t.recent]
        t.queue.refresh(torch.cat(fresh))
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

    `token_ids` is a Dataset with columns input_ids and length. With `checkpoint`, an interrupted
    run goes on from that file, to exactly the numbers of an unbroken one; the caller deletes it.
    Raises FloatingPointError when the loss is no longer finite.
    """
    t = Training(config, encoder)
    if checkpoint and checkpoint.exists():
        t.load(torch.load(checkpoint, map_location=encoder.device, weights_only=False))
    started = saved = time.monotonic()
    before = t.progress.seconds
    device = encoder.device.type
    autocast = torch.autocast(device, torch.bfloat16, enabled=config.precision == "bf16")
    lengths = token_ids.data.table.column("length").to_numpy()  # the column's own iterator is slow
    rows = batches(lengths, config, start=t.progress.step)
    steps = range(t.progress.step + 1, config.steps + 1)
    for step in tqdm(steps, desc=config.method, initial=t.progress.step, total=config.steps,
                     disable=not bar, mininterval=1):  # fmt: skip
        ids, mask = encoder.pad(token_ids[next(rows)]["input_ids"], multiple=1)
        if config.ema_moment == "before_forward":
            update_ema(t.target, t.online, decay_at(step, config))
        with autocast:
            with torch.no_grad():
                negatives = negatives_of(t)
            views = [make_view(b, ids, mask, config, t.generator) for b in (t.online, t.target)]
            perturb(t, views, ids, mask, negatives)
            query = t.online(views[0])  # (batch, dim)
            with torch.no_grad() if config.detach_keys else contextlib.nullcontext():
                keys = t.target(views[1])  # (batch, dim)
            loss = contrast(query, keys, negatives, config)
        optimise(t, loss)
        if config.ema_moment == "after_step":
            update_ema(t.target, t.online, decay_at(step, config))
        t.queue.enqueue(keys, step)
        remember(t, ids, mask)
        t.progress.step = step
        if step % config.eval_every == 0 or step == config.steps:
            t.progress.seconds = before + time.monotonic() - started
            examine(t, loss.item())
        if checkpoint and time.monotonic() - saved > SAVE_SECONDS:
            t.progress.seconds = before + time.monotonic() - started
            write_atomically(checkpoint, lambda path: torch.save(t.state(), path))
            saved = time.monotonic()
    if t.recent:
        t.progress.staleness = staleness_of(t)
    if t.best is not None:
        encoder.load_state_dict(t.best)
    return t.progress


@torch.no_grad()
def staleness_of(t: Training) -> dict:
    """How far the queued keys have drifted from what the present target gives, by age.

    Draws from random streams of its own: the run goes on as if nothing had been measured.
    """
    generator = torch.Generator().manual_seed(t.config.seed)
    with torch.random.fork_rng():
        passes = [
            torch.cat([t.target(make_view(t.target, *batch, t.config, generator)) for batch in t.recent])
            for _ in range(2)
        ]
    ages = t.queue.ages(t.progress.step)
    n = min(len(passes[0]), len(ages))
    keys = [x[:n].float().cpu().numpy() for x in (t.queue.keys, *passes)]
    return staleness.summary(*keys, ages[:n].numpy(), t.config.ema_decay, t.config.batch_size)


def optimise(t: Training, loss: Tensor) -> None:
    """One step of the online branch (and of whatever else is trained)."""
    t.optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(t.online.parameters(), t.config.max_grad_norm)
    t.optimizer.step()
    t.schedule.step()


def examine(t: Training, loss: float) -> None:
    """Scores the encoder on the split that chooses checkpoints, and keeps the best one."""
    if loss != loss or abs(loss) == float("inf"):
        raise FloatingPointError(f"the loss is {loss} at step {t.progress.step}: training diverged")
    config = t.config
    if config.selection == "test":
        score = sts.test_score(encode_as(config, t.encoder), config.benchmark)
    else:
        score = sts.dev_score(encode_as(config, t.encoder), config.benchmark)
    shape = {name: round(value, 4) for name, value in t.probe().items()}
    t.progress.history.append(
        {"step": t.progress.step, "loss": round(loss, 5), "score": round(score, 4), **shape}
    )
    if (why := collapsed(shape)) and not t.progress.collapsed:
        t.progress.collapsed = f"step {t.progress.step}: {why}"
        log.warning("training collapsed at %s", t.progress.collapsed)
    log.info("step %d: loss %.3f, %s score %.2f", t.progress.step, loss, config.selection, score)
    best = float("-inf") if t.progress.best_score is None else t.progress.best_score
    if score > best and config.selection != "last":
        t.progress.best_score, t.progress.best_step = score, t.progress.step
        t.best = {k: v.detach().clone() for k, v in t.encoder.state_dict().items()}
