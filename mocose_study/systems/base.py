"""What every system declares and returns, and what several of them share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, nn
from transformers import AutoModel

from mocose_lib import Encoder, InputError, evaluate
from mocose_lib.evaluation.sts import Encode, cached
from mocose_lib.shapes import Scalar, Vectors
from mocose_lib.trainer import Progress, Trainer
from mocose_study.config import Config
from mocose_study.data import benchmarks, corpora, encoders
from mocose_study.fast import accelerate
from mocose_study.rewriting import text_augment

from .probe import Probe

IDS: dict[tuple, dict[str, list[int]]] = {}  # by words and length
REMEMBERED = 100_000  # sentences at most


@dataclass
class Fitted:
    """A system ready to be measured: `encode` maps n sentences to (n, dim) float32.

    of_task: where each test task has its own `encode`, gives it for the sentences.
    """

    encode: Encode
    progress: Progress = field(default_factory=Progress)
    encoder: Encoder | None = None  # what can be saved, where it is the whole system
    of_task: Callable[[list[str]], Encode] | None = None


class System:
    """A system of the papers' tables. Its facts are attributes."""

    name: str  # of Config.method
    label: str  # in tables and figures
    colour: str
    reads: tuple[str, ...]  # fields of Config that name what it learns from
    own: tuple[str, ...]  # fields of Config that other systems do without
    draws: bool  # whether its numbers depend on the seed
    pooler: bool  # whether pooling "cls_pooler" measures no layer left untrained
    saved_whole: Callable[[Config], bool]  # whether an encoder's folder holds it

    @staticmethod
    def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
        """Trains the system, or loads what it consists of."""
        raise NotImplementedError

    @staticmethod
    def inputs(config: Config, encoder: Encoder | None = None, bar: bool = False):
        """Reads, checks and caches what it learns from, where that is anything."""

    @staticmethod
    def contradictions(config: Config) -> Iterable[str]:
        """A sentence for everything in the Config that it cannot do."""
        return ()


def load_encoder(config: Config, device: str, kind: type[Encoder] = Encoder) -> Encoder:
    """The encoder with which a run starts, on its device."""
    torch.manual_seed(config.seed)  # a checkpoint without pooler gets a fresh one
    options = {"dropout": config.dropout, "max_length": config.eval_max_length}
    folder = encoders.source(config.encoder)
    encoder = kind.load(folder, config.pooling, **options).to(device)
    if config.encoder_init == "random":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            model = AutoModel.from_config(encoder.model.config)
        if hasattr(model, "pooler"):
            model.pooler = nn.Identity()  # the encoder has its own, which stays
        encoder.model = model.to(device).eval()
        if encoder.pooler_trained:
            encoder.pooler.reset_parameters()
            encoder.pooler_trained = False
    if config.fast:
        accelerate(encoder)
    remember_ids(encoder)
    return encoder


def remember_ids(encoder: Encoder) -> None:
    """Token ids of test sentences are made once in a process, not once a run."""
    key = corpora.words_of(encoder.tokenizer), encoder.max_length
    uncached, known = encoder.tokenize, IDS.setdefault(key, {})

    def tokenize(sentences: list[str], max_length: int | None = None):
        if max_length or len(sentences) + len(known) > REMEMBERED:
            return uncached(sentences, max_length)
        new = [s for s in sentences if s not in known]
        known.update(zip(new, uncached(new), strict=True))
        return [known[s] for s in sentences]

    encoder.tokenize = tokenize


def training_ids(config: Config, encoder: Encoder, bar: bool = False):
    """Token ids of the training sentences, truncated to `max_length`: a Dataset.

    Its columns are input_ids, document, and those of rewritten views.
    """
    check_positions(config, encoder)
    corpus = corpora.load_corpus(config.corpus, config.corpus_size)
    ids = corpora.tokenized(corpus, encoder.tokenizer, config.max_length)
    return text_augment.with_views(config, corpus, ids, encoder, bar)


def check_positions(config: Config, encoder: Encoder, field="max_length") -> None:
    """Raises InputError when the encoder cannot read so many tokens."""
    if (asked := getattr(config, field)) > encoder.positions:
        what = f"{field} = {asked}, but {config.encoder!r} reads only"
        raise InputError(f"{what} {encoder.positions} tokens.")


def statistics_texts(config: Config, encoder=None, bar: bool = False) -> list[str]:
    """What whitening and flow learn from: test sentences, or the corpus."""
    if config.statistics == "task":
        return sentences_of(benchmarks.test_tables(config.benchmark).values())
    return list(corpora.load_corpus(config.corpus, config.corpus_size)["sentence"])


def sentences_of(tables: Iterable) -> list[str]:
    """The distinct sentences of tables of pairs."""
    sides = (t[side] for t in tables for side in ("sentence1", "sentence2"))
    return list(dict.fromkeys(sentence for side in sides for sentence in side))


def documents(config: Config, ids) -> np.ndarray:
    """The number of every training sentence's document.

    Raises InputError on a corpus whose files have no empty lines between documents.
    """
    numbers, name = ids.data.table.column("document").to_numpy(), config.corpus
    if len(np.unique(numbers)) <= len(corpora.corpus_files(name)):
        raise InputError(
            f"corpus {name!r} has no documents (empty lines between them), which "
            f"{config.method} needs here; set corpus = 'wiki_documents'."
        )
    return numbers


def trained(
    config: Config, trainer: Trainer, examples, encoder, encode, probed, checkpoint, bar
) -> Fitted:
    """Trains, and keeps the weights with the best score of `encode`.

    The geometry is that of `probed`. The last step is also scored on the test tasks
    ("test"), which shows damage that the choice of earlier weights hides.
    """
    probe, last = Probe(probed, config.benchmark), cached(encode)
    test = benchmarks.test_tables(config.benchmark)
    dev = benchmarks.dev_tables(config.benchmark, config.dev)
    choosing = test if config.selection == "test" else dev

    def measure(step: int) -> dict[str, float]:
        measured = {"score": evaluate(encode, choosing)["average"], **probe()}
        if step == config.steps:
            measured["test"] = evaluate(last, test)["average"]
        return measured

    looks = {"evaluate": measure, "choose": config.selection != "last", "probe": probe}
    kept = {"checkpoint": checkpoint, "bar": bar}
    progress = trainer.run(examples, name=config.method, **looks, **kept)
    ended = progress.best_step in (0, config.steps)
    return Fitted(last if ended else encode, progress, encoder)


class Model(System, nn.Module):
    """An encoder and whatever is trained beside it; `encode` is what is measured.

    `inputs` reads what it trains on, token ids unless a model overrides it. `examples`
    has the length of one epoch.
    """

    draws, pooler = True, False
    encoder_kind = Encoder
    inputs = staticmethod(training_ids)

    def __init__(self, config: Config, encoder: Encoder, ids):
        super().__init__()
        self.config, self.encoder = config, encoder
        self.ids = self.examples = ids

    def batch_loss(self, rows: np.ndarray, generator: Generator) -> Scalar:
        """The loss of a batch: of the training examples with the numbers `rows`."""
        return self.loss(self.ids[rows]["input_ids"])

    def head(self, vectors: Vectors) -> Vectors:
        """What is measured, from the encoder's vectors."""
        return vectors

    @torch.no_grad()
    def encode(self, sentences, **options) -> Float[np.ndarray, "n dim"]:
        vectors = torch.from_numpy(self.encoder.encode(sentences, **options))
        return self.head(vectors.to(self.encoder.device)).cpu().numpy()

    @classmethod
    def fit(cls, config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
        encoder = load_encoder(config, device, cls.encoder_kind)
        model = cls(config, encoder, cls.inputs(config, encoder, bar)).to(device)
        return train_system(config, model, checkpoint, bar)


def train_system(config: Config, model: Model, checkpoint=None, bar=True) -> Fitted:
    """Trains `model` in place and leaves the chosen weights in it."""
    torch.manual_seed(config.seed)
    trainer, encode = Trainer(config, model.train(), model), model.encode
    encoders = model.encoder, encode, encode
    return trained(config, trainer, model.examples, *encoders, checkpoint, bar)
