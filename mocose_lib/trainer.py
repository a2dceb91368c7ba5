"""What every training has: optimiser, schedule, checkpoints, and the choice of the best weights."""

import json
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, cuda, nn
from tqdm.auto import tqdm

from .batches import batches
from .heads import stream
from .optimizer import make_optimizer
from .settings import InputError, Settings

log = logging.getLogger(__name__)
Measure = Callable[
    [int], Mapping[str, float]
]  # step -> numbers; "score" chooses the checkpoint


@runtime_checkable
class Checkpoint(Protocol):
    """Where the state of a training is kept while it runs."""

    def due(self) -> bool: ...  # whether it is time to write
    def write(self, state: dict) -> None: ...
    def read(self, device: torch.device) -> dict | None: ...


@dataclass
class Progress:
    """What a training has to show so far: plain numbers, part of every checkpoint."""

    step: int = 0
    seconds: float = 0.0
    best_score: float | None = None  # None where no score chose the weights
    best_step: int = 0
    staleness: list[dict] = field(
        default_factory=list
    )  # of the queue (evaluation/staleness.py)
    history: list[dict] = field(
        default_factory=list
    )  # step, loss, and what was measured
    trajectory: list[dict] = field(
        default_factory=list
    )  # step, and what the probe gave


class SingleProcess:
    """One process. In a subclass for several, each encodes its own rows of the same views."""

    rank, size = 0, 1  # the process with rank 0 evaluates, and writes checkpoints

    def own(self, view):
        """The rows of a View that this process encodes."""
        return view

    def gather(self, keys: Tensor) -> list[Tensor]:
        """The keys of all processes, in the order of the batch; `keys` is number `rank`."""
        return [keys]

    def average(self, tensors: list[Tensor]) -> None:
        """Puts the mean over the processes into each tensor."""

    def seed(self, seed: int, step: int) -> None:
        """Gives every process its own dropout."""


class Trainer:
    """All that a training step reads or changes, so that a checkpoint of it is complete.

    The optimiser trains the encoders' models in `online` at `lr`, and all other parameters and
    `more` at `head_lr`. `scored` is the module whose best weights are kept.
    """

    stateful: tuple[str, ...] = ("online", "optimizer", "schedule")
    ranks = SingleProcess()

    def __init__(
        self, settings: Settings, online: nn.Module, scored: nn.Module, more=()
    ):
        self.settings, self.online, self.scored = settings, online, scored
        self.trained = [*online.parameters(), *more]
        self.generator = stream(settings.seed, "views")
        self.optimizer = make_optimizer(settings, online, more)
        factor = partial(
            learning_rate, steps=settings.steps, warmup=settings.warmup_steps
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, factor)
        self.best: dict | None = None
        self.progress = Progress()

    def state(self) -> dict:
        """Tensors and plain values from which `load` goes on."""
        return {name: getattr(self, name).state_dict() for name in self.stateful} | {
            "settings": json.dumps(asdict(self.settings), sort_keys=True),
            "best": self.best,
            "progress": asdict(self.progress),
            "generator": self.generator.get_state(),
            "cpu_rng": torch.get_rng_state(),
            "cuda_rng": cuda.get_rng_state_all(),
        }

    def load(self, state: dict) -> None:
        """Goes on from `state`. Raises InputError when it belongs to other Settings."""
        if state["settings"] != json.dumps(asdict(self.settings), sort_keys=True):
            raise InputError(
                "the checkpoint belongs to other settings; delete it to start anew."
            )
        for name in self.stateful:
            getattr(self, name).load_state_dict(state[name])
        self.best, self.progress = state["best"], Progress(**state["progress"])
        self.generator.set_state(state["generator"].cpu())
        torch.set_rng_state(state["cpu_rng"].cpu())
        cuda.set_rng_state_all(
            map(Tensor.cpu, state["cuda_rng"][: cuda.device_count()])
        )

    def resume(self, checkpoint: Checkpoint | None) -> None:
        """Goes on from `checkpoint` if it holds a state."""
        if checkpoint and (state := checkpoint.read(self.trained[0].device)):
            self.load(state)

    def step(self, rows: np.ndarray, step: int) -> None:
        """One training step, number `step`, on the examples with the numbers `rows`."""
        raise NotImplementedError

    def run(
        self,
        lengths: Sequence[int],
        *,
        name: str,
        evaluate: Measure | None = None,
        choose: bool = True,
        probe: Measure | None = None,
        checkpoint: Checkpoint | None = None,
        bar: bool = True,
    ) -> Progress:
        """Trains to the end, from `checkpoint` on, and leaves the chosen weights.

        `lengths` has a number for each training example, see `batches`.
        """
        self.resume(checkpoint)
        self.probe_if_due(probe if self.progress.step == 0 else None)
        rows = batches(lengths, self.settings, start=self.progress.step)
        for step in self.steps(name, bar):
            self.step(next(rows), step)
            self.probe_if_due(probe)
            self.evaluate_if_due(evaluate, choose)
            self.save_if_due(checkpoint)
        self.restore_best()
        return self.progress

    def steps(self, name: str, bar: bool) -> Iterator[int]:
        """The numbers of the steps that are left, counted from 1, behind a progress bar."""
        done, total = self.progress.step, self.settings.steps
        started = time.monotonic() - self.progress.seconds
        todo = range(done + 1, total + 1)
        for step in tqdm(
            todo, name, total, initial=done, disable=not bar, mininterval=1
        ):
            yield step
            self.progress.seconds = time.monotonic() - started

    def optimise(self, loss: Tensor, step: int) -> None:
        """One step of the optimiser and of its schedule."""
        self.loss = loss.detach().clone()
        self.optimizer.zero_grad()
        loss.backward()
        self.ranks.average(
            [self.loss, *(p.grad for p in self.trained if p.grad is not None)]
        )
        torch.nn.utils.clip_grad_norm_(self.trained, self.settings.max_grad_norm)
        self.optimizer.step()
        self.schedule.step()
        self.progress.step = step

    def probe_if_due(self, probe: Measure | None) -> None:
        """Adds what `probe` gives to the trajectory, every `probe_every` steps."""
        step, every = self.progress.step, self.settings.probe_every
        if probe and every and step % every == 0 and not self.ranks.rank:
            self.progress.trajectory.append({"step": step, **_rounded(probe(step))})

    def evaluate_if_due(self, evaluate: Measure | None, choose: bool) -> None:
        """Every `eval_every` steps and at the last: measures, and keeps the best weights."""
        progress, step = self.progress, self.progress.step
        if step % self.settings.eval_every and step != self.settings.steps:
            return
        if not math.isfinite(loss := self.loss.item()):
            raise FloatingPointError(
                f"the loss is {loss} at step {step}: training diverged"
            )
        measured = evaluate(step) if evaluate and not self.ranks.rank else {}
        if choose and measured and "score" not in measured:
            raise InputError(
                "evaluate must return a 'score' to choose by; or set choose = False."
            )
        progress.history.append(
            {"step": step, "loss": round(loss, 5), **_rounded(measured)}
        )
        log.info("%s", progress.history[-1])
        best = -math.inf if progress.best_score is None else progress.best_score
        if choose and measured.get("score", -math.inf) > best:
            progress.best_score, progress.best_step = measured["score"], step
            self.best = {
                k: v.detach().clone() for k, v in self.scored.state_dict().items()
            }

    def save_if_due(self, checkpoint: Checkpoint | None) -> None:
        """Writes the state, when it is time to."""
        if checkpoint and checkpoint.due() and not self.ranks.rank:
            checkpoint.write(self.state())

    def restore_best(self) -> None:
        """Puts the chosen weights back into what is scored."""
        if self.best is not None:
            self.scored.load_state_dict(self.best)


def _rounded(measured: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in measured.items()}


def learning_rate(step: int, steps: int, warmup: int) -> float:
    """Factor on the peak rate after `step` steps.

    It rises linearly over the warm-up and falls linearly to 0 over all steps. The smaller counts.
    """
    warm = (step + 1) / warmup if step < warmup else 1.0
    return min(warm, 1 - step / steps)
