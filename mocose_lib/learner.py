"""What any training has: optimiser, schedule, checkpoints, and the choice of the best one."""

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from . import sts
from .batches import batches
from .config import Config, StudyError
from .files import write_atomically
from .geometry import collapsed
from .probe import Probe

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
    trajectory: list[dict] = field(default_factory=list)  # step, geometry, every `probe_every`


class Learner:
    """A system in training: all that a step reads or changes, so that a checkpoint is complete.

    `online` is what the optimiser trains: `pretrained` parameters at `lr`, all others, and `more`,
    at `head_lr`. `scored` is what is measured and kept: an Encoder, or a module with `encode`.
    """

    parts: tuple[str, ...] = ("online", "optimizer", "schedule")  # have a state_dict
    values: tuple[str, ...] = ("best", "progress")  # are stored as they are

    def __init__(self, config: Config, online: nn.Module, scored: nn.Module,
                 pretrained: list[Tensor], more: list[Tensor] | None = None):  # fmt: skip
        self.config, self.online, self.scored = config, online, scored
        self.generator = torch.Generator().manual_seed(config.seed)
        self.pretrained = pretrained
        self.optimizer = make_optimizer(config, online, pretrained, more or [])
        # without fresh parameters there is nothing to train alone
        self.frozen = config.freeze_steps if self.optimizer.param_groups[1]["params"] else 0
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: lr_factor(step, config)
        )
        self.best: dict | None = None
        self.progress = Progress()
        self.probe = Probe(scored, config.benchmark)

    @property
    def encode(self) -> sts.Encode:
        """The function that is scored."""
        return self.scored.encode

    def state(self) -> dict:
        return {
            **{name: getattr(self, name).state_dict() for name in self.parts},
            **{name: getattr(self, name) for name in self.values},
            "config": self.config.identity(), "generator": self.generator.get_state(),
            "cpu_rng": torch.get_rng_state(), "cuda_rng": torch.cuda.get_rng_state_all(),
        }  # fmt: skip

    def load(self, state: dict) -> None:
        """Raises StudyError when the state is of another Config."""
        if state["config"] != self.config.identity():
            raise StudyError("the checkpoint belongs to another Config; delete it to start anew.")
        for name in self.parts:
            getattr(self, name).load_state_dict(state[name])
        for name in self.values:
            setattr(self, name, state[name])
        self.generator.set_state(state["generator"].cpu())
        torch.set_rng_state(state["cpu_rng"].cpu())
        torch.cuda.set_rng_state_all([s.cpu() for s in state["cuda_rng"]])

    def steps(
        self, lengths: np.ndarray, checkpoint: Path | None, bar: bool
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yields (step, rows of its batch), from where `checkpoint` stopped; the caller trains.

        Behind each step come, when they are due, the score and the checkpoint; behind the last
        one the chosen weights are put back into `scored`.
        """
        if checkpoint and checkpoint.exists():
            self.load(torch.load(checkpoint, map_location=self.probe.device, weights_only=False))
        progress, config = self.progress, self.config
        saved = time.monotonic()
        started = saved - progress.seconds
        rows = batches(lengths, config, start=progress.step)
        todo = range(progress.step + 1, config.steps + 1)
        if config.probe_every and not progress.step:
            self.trace()
        for step in tqdm(todo, desc=config.method, initial=progress.step, total=config.steps,
                         disable=not bar, mininterval=1):  # fmt: skip
            for parameter in self.pretrained:
                parameter.requires_grad_(step > self.frozen)
            yield step, next(rows)
            progress.step, progress.seconds = step, time.monotonic() - started
            if config.probe_every and step % config.probe_every == 0:
                self.trace()
            if step % config.eval_every == 0 or step == config.steps:
                examine(self)
            if checkpoint and time.monotonic() - saved > SAVE_SECONDS:
                write_atomically(checkpoint, lambda path: torch.save(self.state(), path))
                saved = time.monotonic()
        self.finish()

    def trace(self) -> None:
        self.progress.trajectory.append({"step": self.progress.step, **look(self)})

    def finish(self) -> None:
        """Puts the chosen weights back into what is scored."""
        if self.best is not None:
            self.scored.load_state_dict(self.best)


def make_optimizer(
    config: Config, online: nn.Module, pretrained: list[Tensor], more: list[Tensor]
) -> torch.optim.Optimizer:
    """Two groups: the pre-trained parameters, and all others with those of `more`."""
    own = {id(p) for p in pretrained}
    fresh = [p for p in online.parameters() if id(p) not in own] + more
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[config.optimizer]
    groups = [{"params": pretrained, "lr": config.lr}, {"params": fresh, "lr": config.head_lr}]
    return kind(groups, weight_decay=config.weight_decay, fused=True)


def lr_factor(step: int, config: Config) -> float:
    """Linear warm-up, then linear decay to 0."""
    warm = (step + 1) / config.warmup_steps if step < config.warmup_steps else 1.0
    return min(warm, 1 - step / config.steps)


def optimise(t: Learner, loss: Tensor) -> None:
    """One step of the online branch (and of whatever else is trained)."""
    t.loss = loss.detach()
    if loss.requires_grad:  # not where the encoder is frozen and no head stands behind it
        t.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(t.online.parameters(), t.config.max_grad_norm)
        t.optimizer.step()
    t.schedule.step()


def look(t: Learner) -> dict[str, float]:
    """Alignment, uniformity and the rest on the probe's fixed sample (`probe.Probe`)."""
    return {name: round(value, 4) for name, value in t.probe().items()}


def examine(t: Learner) -> None:
    """Scores the system on the split that chooses checkpoints, and keeps the best one.

    Says in log and progress when training has collapsed. Raises FloatingPointError when the loss
    is no longer finite.
    """
    config, progress, loss = t.config, t.progress, t.loss.item()
    if not math.isfinite(loss):
        raise FloatingPointError(f"the loss is {loss} at step {progress.step}: training diverged")
    choose = sts.test_score if config.selection == "test" else sts.dev_score
    score = choose(t.encode, config.benchmark)
    shape = look(t)
    row = {"step": progress.step, "loss": round(loss, 5), "score": round(score, 4), **shape}
    progress.history.append(row)
    if (why := collapsed(shape)) and not progress.collapsed:
        progress.collapsed = f"step {progress.step}: {why}"
        log.warning("training collapsed at %s", progress.collapsed)
    log.info("step %d: loss %.3f, %s score %.2f", progress.step, loss, config.selection, score)
    best = -math.inf if progress.best_score is None else progress.best_score
    if score > best and config.selection != "last":
        progress.best_score, progress.best_step = score, progress.step
        t.best = {k: v.detach().clone() for k, v in t.scored.state_dict().items()}
