"""What every system gives back, and the steps that trained ones share."""

from dataclasses import dataclass, field

from ..config import Config
from ..data import load_corpus, tokenized
from ..encoder import Encoder
from ..sts import Encode
from ..train import Progress


@dataclass
class Fitted:
    """A system ready to be measured: n sentences -> (n, dim) float32."""

    encode: Encode
    progress: Progress = field(default_factory=Progress)


def load_encoder(config: Config, device: str) -> Encoder:
    """The starting point of a run, on its device."""
    return Encoder.load(
        config.encoder, config.pooling, config.encoder_layers, config.dropout,
        config.eval_max_length).to(device)  # fmt: skip


def training_ids(config: Config, encoder: Encoder):
    """Token ids of the training sentences, cut at `max_length`: a memory-mapped Dataset."""
    corpus = load_corpus(config.corpus, config.corpus_size)
    return tokenized(corpus, encoder.tokenizer, config.max_length)
