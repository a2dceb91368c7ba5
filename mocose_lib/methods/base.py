"""What every system gives back, and the steps that trained ones share."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from tqdm.auto import tqdm

from .. import sts, train
from ..config import Config, StudyError
from ..data import batches, checked, corpus_files, folder, load_corpus, tokenized
from ..encoder import Encoder
from ..files import write_atomically
from ..geometry import Probe
from ..train import Progress


@dataclass
class Fitted:
    """A system ready to be measured: n sentences -> (n, dim) float32."""

    encode: sts.Encode
    progress: Progress = field(default_factory=Progress)


def load_encoder(config: Config, device: str, kind: type[Encoder] = Encoder) -> Encoder:
    """The starting point of a run, on its device."""
    return kind.load(
        config.encoder, config.pooling, config.encoder_layers, config.dropout,
        config.eval_max_length).to(device)  # fmt: skip


def training_ids(config: Config, encoder: Encoder):
    """Token ids of the training sentences, cut at `max_length`: a memory-mapped Dataset."""
    check_positions(config, encoder)
    corpus = load_corpus(config.corpus, config.corpus_size)
    return tokenized(corpus, encoder.tokenizer, config.max_length)


def check_positions(config: Config, encoder: Encoder) -> None:
    """Raises StudyError when the encoder cannot read `max_length` tokens."""
    if config.max_length > encoder.positions:
        raise StudyError(
            f"max_length = {config.max_length}, but {config.encoder!r} reads only "
            f"{encoder.positions} tokens."
        )


def data_file(name: str) -> Path:
    """A path, or a file of the data folder. Raises StudyError when there is neither."""
    if Path(name).is_file():
        return Path(name)
    if (data := folder()) is None:
        raise StudyError(f"file {name!r} needs a data folder; give --data or MOCOSE_DATA.")
    return checked(data, name)


def statistics_texts(config: Config) -> list[str]:
    """The sentences on which a post-processing method computes its statistics.

    `statistics` "task": those of the seven STS test sets together; "corpus": the training ones.
    """
    if config.statistics == "task":
        return sts.test_benchmark(config.benchmark).sentences()
    return list(load_corpus(config.corpus, config.corpus_size)["sentence"])


def column(ids, name: str) -> np.ndarray:
    """A column of numbers of a Dataset at once; its own iterator would take minutes."""
    return ids.data.table.column(name).to_numpy()


def documents(config: Config, ids) -> np.ndarray:
    """The number of every training sentence's document.

    Raises StudyError on a corpus whose files have no empty lines between documents.
    """
    found = column(ids, "document") if "document" in ids.column_names else np.zeros(0)
    files = 1 if config.corpus == "generated" else len(corpus_files(config.corpus))
    if len(np.unique(found)) <= files:
        raise StudyError(
            f"corpus {config.corpus!r} has no documents (empty lines between them), which "
            f"{config.method} needs here; set corpus = 'wiki_documents'."
        )
    return found


class System(nn.Module):
    """An encoder and whatever is trained beside it; `encode` is what is measured."""

    encoder: Encoder

    def head(self, vectors: Float[Tensor, "n width"]) -> Float[Tensor, "n dim"]:
        """What is measured, from the encoder's vectors."""
        return vectors

    @torch.no_grad()
    def encode(self, sentences, **options) -> Float[np.ndarray, "n dim"]:
        vectors = torch.from_numpy(self.encoder.encode(sentences, **options))
        return self.head(vectors.to(self.encoder.device)).cpu().numpy()

    def forward(
        self, words: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch dim"]:
        """The same for a batch of word embeddings: what `geometry.Probe` calls."""
        return self.head(self.encoder(words, mask))

    def words(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        return self.encoder.words(ids)

    @property
    def pooling(self) -> str:
        return self.encoder.pooling


class Learner:
    """A system in training: all that a step reads or changes, so that a checkpoint is complete."""

    def __init__(self, config: Config, system: System):
        torch.manual_seed(config.seed)
        self.config = config
        self.online = self.encoder = system.train()  # the names `train.optimise` and `examine` use
        self.generator = torch.Generator().manual_seed(config.seed)
        pretrained = [m.model for m in system.modules() if isinstance(m, Encoder)]
        groups = [[p for m in pretrained for p in m.parameters()]]
        own = {id(p) for p in groups[0]}
        groups.append([p for p in system.parameters() if id(p) not in own])
        kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[config.optimizer]
        rates = (config.lr, config.head_lr)
        self.optimizer = kind(
            [{"params": group, "lr": lr} for group, lr in zip(groups, rates, strict=True)],
            weight_decay=config.weight_decay, fused=True)  # fmt: skip
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, [lambda step, i=i: train.lr_factor(step, i, config) for i in range(2)]
        )
        self.best: dict | None = None
        self.progress = Progress()
        self.probe = Probe(system.encoder, config.benchmark)
        self.probe.encoder = system  # look at what is measured, its head included

    def state(self) -> dict:
        parts = ("online", "optimizer", "schedule")
        return {name: getattr(self, name).state_dict() for name in parts} | {
            "config": self.config.to_json(), "best": self.best, "progress": self.progress,
            "generator": self.generator.get_state(), "cpu_rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state_all(),
        }  # fmt: skip

    def load(self, state: dict) -> None:
        if state["config"] != self.config.to_json():
            raise StudyError("the checkpoint belongs to another Config; delete it to start anew.")
        for name in ("online", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(state[name])
        self.best, self.progress = state["best"], state["progress"]
        self.generator.set_state(state["generator"].cpu())
        torch.set_rng_state(state["cpu_rng"].cpu())
        torch.cuda.set_rng_state_all([s.cpu() for s in state["cuda_rng"]])


def train_system(
    config: Config,
    system: System,
    loss_of: Callable[[np.ndarray, torch.Generator], Tensor],
    lengths,
    checkpoint: Path | None = None,
    bar: bool = True,
) -> Progress:
    """Trains `system` in place and leaves in it the chosen checkpoint, as `train.train` does.

    `loss_of(rows, generator)` is the loss of one batch of training examples; `lengths` has a
    number for each, which `batches` keeps equal within a batch. Resumable, to the same numbers.
    """
    t = Learner(config, system)
    device = system.encoder.device
    if checkpoint and checkpoint.exists():
        t.load(torch.load(checkpoint, map_location=device, weights_only=False))
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16")
    started = saved = time.monotonic()
    before = t.progress.seconds
    rows = batches(lengths, config, start=t.progress.step)
    steps = range(t.progress.step + 1, config.steps + 1)
    for step in tqdm(steps, desc=config.method, initial=t.progress.step, total=config.steps,
                     disable=not bar, mininterval=1):  # fmt: skip
        with autocast:
            loss = loss_of(next(rows), t.generator)
        train.optimise(t, loss)
        t.progress.step = step
        t.progress.seconds = before + time.monotonic() - started
        if step % config.eval_every == 0 or step == config.steps:
            train.examine(t, loss.item())
        if checkpoint and time.monotonic() - saved > train.SAVE_SECONDS:
            write_atomically(checkpoint, lambda path: torch.save(t.state(), path))
            saved = time.monotonic()
    if t.best is not None:
        system.load_state_dict(t.best)
    return t.progress
