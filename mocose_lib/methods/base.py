"""What every system gives back, and the steps that trained ones share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .. import sts, text_augment
from ..config import Config, StudyError
from ..data import column, corpus_files, load_corpus, tokenized
from ..encoder import Encoder, pass_through
from ..learner import Learner, Progress, optimise
from ..sources import checked, folder


@dataclass
class Fitted:
    """A system ready to be measured: n sentences -> (n, dim) float32."""

    encode: sts.Encode
    progress: Progress = field(default_factory=Progress)


def load_encoder(config: Config, device: str, kind: type[Encoder] = Encoder) -> Encoder:
    """The starting point of a run, on its device."""
    encoder = kind.load(
        config.encoder, config.pooling, config.encoder_layers, config.dropout,
        config.eval_max_length).to(device)  # fmt: skip
    if config.encoder_init == "random":
        encoder.forget(config.seed)
    if config.head_init == "identity" and config.pooling != "cls_pooler":
        pass_through(encoder.pooler)
    return encoder


def training_ids(config: Config, encoder: Encoder, bar: bool = False):
    """Token ids of the training sentences, cut at `max_length`: a memory-mapped Dataset.

    Columns input_ids and length, and those of the views with text augmentation.
    """
    check_positions(config, encoder)
    corpus = load_corpus(config.corpus, config.corpus_size)
    ids = tokenized(corpus, encoder.tokenizer, config.max_length)
    return text_augment.with_views(config, corpus, ids, encoder.tokenizer, encoder.device, bar)


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


def statistics_inputs(config: Config, encoder: Encoder, bar: bool = False) -> list[str]:
    return statistics_texts(config)


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
    """Trains `system` in place and leaves in it the chosen checkpoint, as `train.train` does.

    `loss_of(rows, generator)` is the loss of one batch of training examples; `lengths` has a
    number for each, which `batches` keeps equal within a batch. Resumable, to the same numbers.
    """
    torch.manual_seed(config.seed)
    pretrained = [p for m in system.modules() if isinstance(m, Encoder) for p in m.model.parameters()]
    t = Learner(config, system.train(), system, pretrained)
    half = config.precision == "bf16"
    autocast = torch.autocast(system.encoder.device.type, torch.bfloat16, enabled=half)
    for _, rows in t.steps(lengths, checkpoint, bar):
        with autocast:
            loss = loss_of(rows, t.generator)
        optimise(t, loss)
    return t.progress
