"""The training loop of all systems: batches, steps, checkpoints, best weights."""

import json
import logging
import math
import time
from collections.abc import Callable, Mapping, Sized
from dataclasses import asdict, dataclass, field
from itertools import count

import numpy as np
import torch
from torch import Tensor, cuda, nn
from torch.optim.lr_scheduler import LambdaLR
from tqdm.auto import trange

from .encoder import Encoder, modes_kept
from .heads import stream
from .optimizer import learning_rate, make_optimizer
from .ranks import SingleProcess
from .settings import InputError, Settings

log = logging.getLogger(__name__)
Measure = Callable[[int], Mapping[str, float]]  # step -> numbers by name


@dataclass
class Progress:
    """What a training has measured so far: numbers that every checkpoint holds, too."""

    step: int = 0
    seconds: float = 0.0
    best_score: float | None = None  # None where no score chose the weights
    best_step: int = 0
    staleness: list[dict] = field(default_factory=list)  # what a subclass measures
    history: list[dict] = field(default_factory=list)  # step, loss, what was measured
    trajectory: list[dict] = field(default_factory=list)  # step, what the probe gave


class Trainer:
    """Everything that a training step reads or changes, and a checkpoint must hold.

    The optimiser trains `online` and the parameters `more`. `scored` is the module
    whose best weights are kept. Its `batch_loss(rows, generator)` gives the loss of
    the examples with the numbers `rows`, unless a subclass has a `step` of its own.
    """

    stateful: tuple[str, ...] = ("online", "optimizer", "schedule")
    kept: tuple[str, ...] = ("best",)  # attributes that a checkpoint has as they are
    ranks = SingleProcess()

    def __init__(
        self, settings: Settings, online: nn.Module, scored: nn.Module, more=()
    ):
        self.settings, self.online, self.scored = settings, online, scored
        self.trained = [*online.parameters(), *more]
        self.generator = stream(settings.seed, "views")
        self.optimizer = make_optimizer(settings, self.trained)
        sizes = (settings.steps, settings.warmup_steps)
        self.schedule = LambdaLR(self.optimizer, lambda n: learning_rate(n, *sizes))
        self.best: dict | None = None
        self.progress = Progress()

    def step(self, rows: np.ndarray, step: int) -> None:
        """One training step, number `step`, on the examples with the numbers `rows`."""
        kind, half = self.trained[0].device.type, self.settings.precision == "bf16"
        with torch.autocast(kind, torch.bfloat16, enabled=half):
            loss = self.scored.batch_loss(rows, self.generator)
        self.optimise(loss, step)

    def run(
        self,
        examples: Sized,
        *,
        name: str,
        evaluate: Measure | None = None,
        choose: bool = True,
        probe: Measure | None = None,
        checkpoint=None,  # has due(), write(state) and read(device)
        bar: bool = True,
    ) -> Progress:
        """Trains to the end, from `checkpoint` on, and leaves the chosen weights.

        `evaluate(step)` returns numbers by name. With `choose` the weights with the
        highest "score" are kept, else the last ones. `probe(step)` is called every
        `probe_every` steps (0: never). An interrupted training goes on from
        `checkpoint` to the numbers of an unbroken one; the caller deletes it. However
        it ends, the best weights so far are there, and dropout is off. Raises
        InputError for fewer `examples` than a batch has and as `Encoder.check_views`,
        and FloatingPointError for a loss that is not finite.
        """
        try:
            self._run(examples, name, evaluate, choose, probe, checkpoint, bar)
        finally:
            if self.best is not None:
                self.scored.load_state_dict(self.best)
            self.scored.eval()
        if choose and self.best is None and "score" in self.progress.history[-1]:
            log.warning("no score is a number: the last weights stay, none were chosen")
        return self.progress

    def _run(self, examples, name, evaluate, choose, probe, checkpoint, bar) -> None:
        self.size = len(examples)
        for part in self.online.modules():
            if isinstance(part, Encoder):
                part.check_views(self.settings)
        if checkpoint and (state := checkpoint.read(self.trained[0].device)):
            self.load(state)
        progress, steps = self.progress, self.settings.steps
        done, started = progress.step, time.monotonic() - progress.seconds
        self.probe_if_due(None if done else probe)
        order = batches(examples, self.settings, start=done)
        shape = dict(initial=done, total=steps, disable=not bar, mininterval=1)
        for step in trange(done + 1, steps + 1, desc=name, **shape):
            self.step(next(order), step)
            self.probe_if_due(probe)
            self.evaluate_if_due(evaluate, choose)
            progress.seconds = time.monotonic() - started
            if checkpoint and checkpoint.due() and not self.ranks.rank:
                checkpoint.write(self.state())

    def optimise(self, loss: Tensor, step: int) -> None:
        """One step of the optimiser and of its schedule."""
        self.loss = loss.detach().clone()
        self.optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad for p in self.trained if p.grad is not None]
        self.ranks.average([self.loss, *gradients])
        nn.utils.clip_grad_norm_(self.trained, self.settings.max_grad_norm)
        self.optimizer.step()
        self.schedule.step()
        self.progress.step = step

    def probe_if_due(self, probe: Measure | None) -> None:
        """Adds what `probe` gives to the trajectory, every `probe_every` steps."""
        step, interval = self.progress.step, self.settings.probe_every
        if probe and interval and step % interval == 0 and not self.ranks.rank:
            measured = _rounded(self.measured(probe))
            self.progress.trajectory.append({"step": step, **measured})

    def evaluate_if_due(self, evaluate: Measure | None, choose: bool) -> None:
        """Measures every `eval_every` steps and at the last; keeps the best weights."""
        progress, step = self.progress, self.progress.step
        if step % self.settings.eval_every and step != self.settings.steps:
            return
        if not math.isfinite(loss := self.loss.item()):
            raise FloatingPointError(f"training diverged at step {step}: loss {loss}")
        measured = self.measured(evaluate) if evaluate and not self.ranks.rank else {}
        if choose and measured and "score" not in measured:
            raise InputError("evaluate must return a 'score'; or set choose = False.")
        row = {"step": step, "loss": round(loss, 5), **_rounded(measured)}
        progress.history.append(row)
        log.info("%s", row)
        best = -math.inf if progress.best_score is None else progress.best_score
        if choose and measured.get("score", -math.inf) > best:
            progress.best_score, progress.best_step = measured["score"], step
            weights = self.scored.state_dict().items()
            self.best = {name: value.detach().clone() for name, value in weights}

    def measured(self, measure: Measure) -> dict[str, float]:
        """What `measure` gives; the training's mode and random numbers stay."""
        devices = [p.device for p in self.trained[:1] if p.is_cuda]
        with modes_kept(self.online), torch.random.fork_rng(devices):
            numbers = measure(self.progress.step)
        if not isinstance(numbers, Mapping) or numbers.keys() & {"step", "loss"}:
            what = "evaluate and probe must return numbers by name"
            raise InputError(f"{what}, without 'step' and 'loss'.")
        return {name: float(value) for name, value in numbers.items()}

    def of(self) -> str:
        """Which training a checkpoint is of: settings, number of examples, shapes."""
        shapes = [list(p.shape) for p in self.trained]
        return json.dumps([asdict(self.settings), self.size, shapes], sort_keys=True)

    def state(self) -> dict:
        """Tensors and plain values from which `load` goes on."""
        state = {name: getattr(self, name).state_dict() for name in self.stateful}
        state |= {name: getattr(self, name) for name in self.kept}
        return state | {
            "of": self.of(),
            "progress": asdict(self.progress),
            "generator": self.generator.get_state(),
            "cpu_rng": torch.get_rng_state(),
            "cuda_rng": cuda.get_rng_state_all(),
        }

    def load(self, state: dict) -> None:
        """Goes on from `state`. Raises InputError when it is another training's."""
        if state["of"] != self.of():
            raise InputError("the checkpoint is of another training; delete it.")
        for name in self.stateful:
            getattr(self, name).load_state_dict(state[name])
        for name in self.kept:
            setattr(self, name, state[name])
        self.progress = Progress(**state["progress"])
        self.generator.set_state(state["generator"].cpu())
        torch.set_rng_state(state["cpu_rng"].cpu())
        known = state["cuda_rng"][: cuda.device_count()]
        cuda.set_rng_state_all([rng.cpu() for rng in known])


def _rounded(measured: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in measured.items()}


def batches(examples: Sized, settings: Settings, start: int = 0):
    """Endless row numbers (batch_size,) from batch number `start` on.

    Each epoch is a new random order, a function of (seed, epoch) alone. An incomplete
    batch is left out. Raises InputError for fewer examples than a batch has.
    """
    n, size = len(examples), settings.batch_size
    if n < size:
        raise InputError(f"batch_size = {size} is larger than the {n} examples.")
    for number in count(start):
        epoch, place = divmod(number, n // size)
        if place == 0 or number == start:
            order = np.random.default_rng([settings.seed, epoch]).permutation(n)
        yield order[place * size : (place + 1) * size]
