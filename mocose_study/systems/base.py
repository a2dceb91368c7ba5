"""What every system gives back, and the steps that trained ones share."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from transformers import AutoModel

from mocose_lib import Encoder, InputError, evaluate
from mocose_lib.evaluation.sts import Encode, cached
from mocose_lib.shapes import Vectors
from mocose_lib.train import Text
from mocose_lib.trainer import Progress, Trainer
from mocose_study.config import Config
from mocose_study.data import benchmarks, encoders
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.data.corpora import (
    column,
    corpus_files,
    hub_name,
    load_corpus,
    tokenized,
)
from mocose_study.data.sources import ON_HUB, checked, folder, from_hub, local
from mocose_study.fast import accelerate
from mocose_study.rewriting import text_augment
from mocose_study.rewriting.tokens import shortened

from .probe import Probe

TOKENIZERS: dict[
    str, object
] = {}  # by content: one for all runs tokenises the test sets once


@dataclass
class Fitted:
    """A system ready to be measured: `encode` maps n sentences to (n, dim) float32."""

    encode: Encode
    progress: Progress = field(default_factory=Progress)
    encoder: Encoder | None = (
        None  # what can be saved: an encoder that is the whole system
    )


def load_encoder(config: Config, device: str, kind: type[Encoder] = Encoder) -> Encoder:
    """The encoder with which a run starts, on its device."""
    torch.manual_seed(config.seed)  # a checkpoint without pooler gets a fresh one
    encoder = kind.load(
        encoders.source(config.encoder),
        config.pooling,
        dropout=config.dropout,
        max_length=config.eval_max_length,
    ).to(device)
    content = repr(encoder.tokenizer) + encoder.tokenizer.backend_tokenizer.to_str()
    encoder.tokenizer = TOKENIZERS.setdefault(content, encoder.tokenizer)
    if config.encoder_init == "random":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            model = AutoModel.from_config(encoder.model.config)
        model.pooler = None  # the encoder has its own, which stays
        encoder.model = model.to(device).eval()
    if config.fast:
        accelerate(encoder)
    return encoder


class TrainingText(Text):
    """Token ids of the training sentences; the views are rewritten and shortened."""

    def __init__(self, config: Config, ids):
        self.config, self.ids = config, ids
        self.lengths = column(ids, "length")

    def views(self, rows: np.ndarray, generator: Generator):
        return shortened(*text_augment.views(self.ids[rows]), self.config, generator)


class Evaluation:
    """What is measured while training: the score that chooses the weights, and the geometry.

    The last step also gets "test", the mean over the test tasks: it shows damage that the choice
    of earlier weights hides.
    """

    def __init__(self, config: Config, encode: Encode, probe: Probe):
        self.config, self.encode, self.probe = config, encode, probe
        self.test = benchmarks.test_tables(config.benchmark)
        blind = config.selection == "blind"
        dev = benchmarks.dev_tables(config.benchmark, config.dev, blind)
        self.choosing = self.test if config.selection == "test" else dev
        self.last: Encode | None = None  # remembers the vectors of the last step

    def __call__(self, step: int) -> dict[str, float]:
        found = {
            "score": evaluate(self.encode, self.choosing)["average"],
            **self.probe(),
        }
        if step == self.config.steps:
            self.last = cached(self.encode)
            found["test"] = evaluate(self.last, self.test)["average"]
        return found

    def encode_chosen(self, progress: Progress) -> Encode:
        """What encodes with the chosen weights. The vectors of the last step are not made anew."""
        chose_last = (
            self.config.selection == "last" or progress.best_step == self.config.steps
        )
        return self.last if self.last and chose_last else self.encode


def training_ids(config: Config, encoder: Encoder, bar: bool = False):
    """Token ids of the training sentences, truncated to `max_length`: a memory-mapped Dataset.

    Its columns are input_ids, length, and, with text augmentation, those of the views.
    """
    check_positions(config, encoder)
    corpus = load_corpus(config.corpus, config.corpus_size)
    ids = tokenized(corpus, encoder.tokenizer, config.max_length)
    return text_augment.with_views(
        config, corpus, ids, encoder.tokenizer, encoder.device, bar
    )


def check_positions(config: Config, encoder: Encoder) -> None:
    """Raises InputError when the encoder cannot read `max_length` tokens."""
    if config.max_length > encoder.positions:
        raise InputError(
            f"max_length = {config.max_length}, but {config.encoder!r} reads only "
            f"{encoder.positions} tokens."
        )


def data_file(name: str) -> Path:
    """A path, a file of the data folder, or one of the hub. Raises InputError where none exists."""
    if Path(name).is_file():
        return Path(name)
    if name in ON_HUB:
        return local(name) or from_hub(name)
    if (data := folder()) is None:
        raise InputError(
            f"file {name!r} needs a data folder; give --data or MOCOSE_DATA."
        )
    return checked(data, name)


def statistics_texts(config: Config, encoder=None, bar: bool = False) -> list[str]:
    """What whitening, flow, SIF and idf learn from: sentences of all test sets, or the corpus."""
    if config.statistics == "task":
        return benchmarks.sentences(benchmarks.test_tables(config.benchmark))
    return list(load_corpus(config.corpus, config.corpus_size)["sentence"])


def documents(config: Config, ids) -> np.ndarray:
    """The number of every training sentence's document.

    Raises InputError on a corpus whose files have no empty lines between documents.
    """
    found = column(ids, "document")
    files = 1 if hub_name(config.corpus) else len(corpus_files(config.corpus))
    if len(np.unique(found)) <= files:
        raise InputError(
            f"corpus {config.corpus!r} has no documents (empty lines between them), which "
            f"{config.method} needs here; set corpus = 'wiki_documents'."
        )
    return found


class System(nn.Module):
    """An encoder and whatever is trained beside it; `encode` is what is measured.

    `inputs` reads what the system trains on: token ids where a system does not say otherwise.
    `lengths` has a number for each training example, which `batches` keeps equal within a batch.
    """

    encoder_kind = Encoder
    inputs = staticmethod(training_ids)
    plain = staticmethod(lambda config: True)  # whether the encoder alone is measured

    def __init__(
        self, config: Config, encoder: Encoder, ids, lengths: np.ndarray | None = None
    ):
        super().__init__()
        self.config, self.encoder, self.ids = config, encoder, ids
        self.lengths = column(ids, "length") if lengths is None else lengths

    def batch_loss(self, rows: np.ndarray, generator: Generator) -> Float[Tensor, ""]:
        """The loss of a batch: of the training examples with the numbers `rows`."""
        return self.loss(self.ids[rows]["input_ids"])

    def head(self, vectors: Vectors) -> Vectors:
        """What is measured, from the encoder's vectors."""
        return vectors

    @torch.no_grad()
    def encode(self, sentences, **options) -> Float[np.ndarray, "n dim"]:
        vectors = torch.from_numpy(self.encoder.encode(sentences, **options))
        return self.head(vectors.to(self.encoder.device)).cpu().numpy()


def fit(
    kind: type[System], config: Config, checkpoint=None, device="cpu", bar=True
) -> Fitted:
    """Trains a system of that kind as the Config says."""
    encoder = load_encoder(config, device, kind.encoder_kind)
    system = kind(config, encoder, kind.inputs(config, encoder, bar)).to(device)
    return train_system(config, system, checkpoint, bar)


class SystemTrainer(Trainer):
    """Trains a system by the loss that it gives for each batch."""

    def __init__(self, config: Config, system: System):
        super().__init__(config, system.train(), system)

    def step(self, rows: np.ndarray, step: int) -> None:
        kind, half = self.trained[0].device.type, self.settings.precision == "bf16"
        with torch.autocast(kind, torch.bfloat16, enabled=half):
            loss = self.scored.batch_loss(rows, self.generator)
        self.optimise(loss, step)


def train_system(
    config: Config,
    system: System,
    checkpoint: Checkpoint | None = None,
    bar: bool = True,
) -> Fitted:
    """Trains `system` in place and leaves the chosen weights in it, as `mocose_lib.train` does."""
    system.encoder.check_dropout()
    torch.manual_seed(config.seed)
    evaluation = Evaluation(
        config, system.encode, Probe(system.encode, config.benchmark)
    )
    progress = SystemTrainer(config, system).run(
        system.lengths,
        name=config.method,
        evaluate=evaluation,
        choose=config.selection != "last",
        probe=evaluation.probe,
        checkpoint=checkpoint,
        bar=bar,
    )
    encode = evaluation.encode_chosen(progress)
    return Fitted(encode, progress, system.encoder if system.plain(config) else None)
