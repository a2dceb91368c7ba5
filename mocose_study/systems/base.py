"""What every system gives back, and the steps that trained ones share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mocose_lib import Encoder, InputError, evaluate
from mocose_lib.batches import batches
from mocose_lib.encoder import make_identity
from mocose_lib.evaluation.sts import Encode
from mocose_lib.trainer import Measure, Progress, Trainer
from mocose_study.config import Config
from mocose_study.data import benchmarks, encoders
from mocose_study.data.corpora import column, corpus_files, load_corpus, tokenized
from mocose_study.data.sources import checked, folder
from mocose_study.fast import accelerate
from mocose_study.rewriting import text_augment
from mocose_study.rewriting.tokens import shortened

from .probe import Probe


@dataclass
class Fitted:
    """A system ready to be measured: n sentences -> (n, dim) float32."""

    encode: Encode
    progress: Progress = field(default_factory=Progress)
    encoder: Encoder | None = None  # where it is all of the system, so that it can be saved


def load_encoder(config: Config, device: str, kind: type[Encoder] = Encoder) -> Encoder:
    """The starting point of a run, on its device."""
    encoder = kind.load(
        encoders.locate(config.encoder) or config.encoder, config.pooling, config.encoder_layers,
        config.dropout, config.eval_max_length).to(device)  # fmt: skip
    if config.encoder_init == "random":
        encoder.randomize(config.seed)
    if config.head_init == "identity" and config.pooling != "cls_pooler":
        make_identity(encoder.pooler)
    if config.fast:
        accelerate(encoder)
    return encoder


class TrainingText:
    """Token ids of the training sentences as `mocose_lib.train.Text`: views with their changes."""

    def __init__(self, config: Config, ids):
        self.config, self.ids = config, ids
        self.lengths = column(ids, "length")

    def views(self, rows: np.ndarray, generator: torch.Generator):
        """Token ids of query and key, rewritten and shortened as the Config says."""
        return shortened(*text_augment.views(self.ids[rows]), self.config, generator)


def evaluation(config: Config, encode: Encode, probe: Probe) -> Measure:
    """What is measured while training: the score that chooses the weights, and the geometry.

    At the last step, "test" is the mean over the test tasks: the choice may hide what training
    has broken by then.
    """
    choosing = benchmarks.test_tables if config.selection == "test" else benchmarks.dev_tables

    def measure(step: int) -> dict[str, float]:
        found = {"score": evaluate(encode, choosing(config.benchmark))["average"], **probe()}
        if step == config.steps:
            tables = benchmarks.test_tables(config.benchmark)
            found["test"] = evaluate(encode, tables)["average"]
        return found

    return measure


def training_ids(config: Config, encoder: Encoder, bar: bool = False):
    """Token ids of the training sentences, cut at `max_length`: a memory-mapped Dataset.

    Columns input_ids and length, and those of the views with text augmentation.
    """
    check_positions(config, encoder)
    corpus = load_corpus(config.corpus, config.corpus_size)
    ids = tokenized(corpus, encoder.tokenizer, config.max_length)
    return text_augment.with_views(config, corpus, ids, encoder.tokenizer, encoder.device, bar)


def check_positions(config: Config, encoder: Encoder) -> None:
    """Raises InputError when the encoder cannot read `max_length` tokens."""
    if config.max_length > encoder.positions:
        raise InputError(
            f"max_length = {config.max_length}, but {config.encoder!r} reads only "
            f"{encoder.positions} tokens."
        )


def data_file(name: str) -> Path:
    """A path, or a file of the data folder. Raises InputError when there is neither."""
    if Path(name).is_file():
        return Path(name)
    if (data := folder()) is None:
        raise InputError(f"file {name!r} needs a data folder; give --data or MOCOSE_DATA.")
    return checked(data, name)


def statistics_texts(config: Config) -> list[str]:
    """The sentences on which a post-processing method computes its statistics.

    `statistics` "task" takes those of the test sets together, "corpus" the training sentences.
    """
    if config.statistics == "task":
        return benchmarks.sentences(benchmarks.test_tables(config.benchmark))
    return list(load_corpus(config.corpus, config.corpus_size)["sentence"])


def statistics_inputs(config: Config, encoder: Encoder, bar: bool = False) -> list[str]:
    return statistics_texts(config)


def documents(config: Config, ids) -> np.ndarray:
    """The number of every training sentence's document.

    Raises InputError on a corpus whose files have no empty lines between documents.
    """
    found = column(ids, "document") if "document" in ids.column_names else np.zeros(0)
    if len(np.unique(found)) <= len(corpus_files(config.corpus)):
        raise InputError(
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
        """The same for a batch of word embeddings: what `probe.Probe` calls."""
        return self.head(self.encoder(words, mask))

    def words(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        return self.encoder.words(ids)

    @property
    def pooling(self) -> str:
        return self.encoder.pooling


def train_system(
    config: Config,
    system: System,
    loss_of: Callable[[np.ndarray, torch.Generator], Tensor],
    lengths,
    checkpoint: Path | None = None,
    bar: bool = True,
) -> Progress:
    """Trains `system` in place and leaves the chosen weights in it, as `mocose_lib.train` does.

    `loss_of(rows, generator)` is the loss of one batch of training examples. `lengths` has a
    number for each example, which `batches` keeps equal within a batch. An interrupted training
    goes on from `checkpoint`, to the same numbers.
    """
    torch.manual_seed(config.seed)
    pretrained = [p for m in system.modules() if isinstance(m, Encoder) for p in m.model.parameters()]
    t = Trainer(config, system.train(), system, pretrained)
    probe = Probe(system, config.benchmark)
    measure = evaluation(config, system.encode, probe)
    t.resume(checkpoint)
    t.probe_if_due(probe if t.progress.step == 0 else None)
    half = config.precision == "bf16"
    autocast = torch.autocast(system.encoder.device.type, torch.bfloat16, enabled=half)
    rows = batches(lengths, config, start=t.progress.step)
    for step in t.steps(config.method, bar):
        with autocast:
            loss = loss_of(next(rows), t.generator)
        t.optimise(loss, step)
        t.probe_if_due(probe)
        t.evaluate_if_due(measure, config.selection != "last")
        t.save_if_due(checkpoint)
    t.restore_best()
    return t.progress
