"""A pre-trained encoder as a map from sentences to vectors."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer

from . import saving
from .settings import InputError

Pooling = Literal["cls", "cls_pooler", "mean", "first_last"]
FIRST_TOKEN = ("cls", "cls_pooler")  # poolings that read the first token alone
OFFSETS = {"roberta", "xlm-roberta", "camembert"}  # their positions start behind the padding id


@lru_cache(maxsize=8)  # the sentences of a benchmark are tokenised once, not at every evaluation
def token_ids(tokenizer, sentences: tuple[str, ...], limit: int) -> list[list[int]]:
    """Token ids with special tokens, truncated to `limit`."""
    return tokenizer(list(sentences), truncation=True, max_length=limit)["input_ids"]


def states(
    model: nn.Module,
    words: Float[Tensor, "batch length width"],
    mask: Bool[Tensor, "batch length"] | None,
    positions: Int[Tensor, "batch length"] | None,
    pooling: str,
) -> tuple[Tensor | None, Tensor]:
    """Outputs of the embedding layer (None where `pooling` does not read it) and the last layer.

    Both are (batch, length, width). A faster function may take the place of this one
    (`Encoder.states`); where the pooling reads the first token alone, its second output may be
    (batch, 1, width). No mask means no padding.
    """
    found = model(
        inputs_embeds=words,
        attention_mask=None if mask is None else mask.long(),
        position_ids=positions,
        output_hidden_states=pooling == "first_last",
    )
    return (found.hidden_states or (None,))[0], found.last_hidden_state


class Encoder(nn.Module):
    """A BERT- or RoBERTa-like model with its tokenizer and a pooling.

    The pooling "cls" takes the first token of the last layer. "cls_pooler" applies `pooler` to
    it, a linear layer: the one of the checkpoint's next-sentence head, or a random one. "mean"
    averages the last layer over the real tokens. "first_last" averages the outputs of embedding
    layer and last layer, as SimCSE's evaluation does.
    """

    states: Callable = staticmethod(states)

    def __init__(self, model: nn.Module, tokenizer, pooling: Pooling = "cls", max_length=128):
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.pooling = pooling
        self.max_length = min(max_length, self.positions)
        self.pooler = nn.Linear(self.width, self.width)

    @classmethod
    def load(
        cls,
        name: str | Path,
        pooling: Pooling | None = None,
        layers: int | None = None,
        dropout: float = 0.1,
        max_length: int = 128,
        revision: str | None = None,
    ) -> "Encoder":
        """Loads a folder, or a model of the hub, and keeps its first `layers` layers.

        `pooling` None takes the one that `save` noted, else "cls". Sentences are truncated to
        `max_length` tokens. Nothing in the folder is executed. Raises InputError when there is no
        such encoder, when weights are missing or do not fit, and when it has fewer layers.
        """
        try:
            config = AutoConfig.from_pretrained(name, trust_remote_code=False, revision=revision)
            if layers is not None and layers > config.num_hidden_layers:
                raise InputError(
                    f"encoder_layers = {layers}, but {name} has only {config.num_hidden_layers}."
                )
            config.num_hidden_layers = layers or config.num_hidden_layers
            config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
            model, report = AutoModel.from_pretrained(
                name, config=config, output_loading_info=True, dtype=torch.float32,
                trust_remote_code=False, revision=revision)  # fmt: skip
            tokenizer = AutoTokenizer.from_pretrained(
                name, trust_remote_code=False, revision=revision
            )
        except (OSError, ValueError, SafetensorError, RuntimeError) as cause:
            raise _unusable(name, cause) from cause
        _check_complete(name, tokenizer, report)
        encoder = cls(model, tokenizer, pooling or saving.pooling_of(name) or "cls", max_length)
        trained = getattr(model, "pooler", None)
        if trained is not None and not any("pooler" in key for key in report["missing_keys"]):
            encoder.pooler.load_state_dict(trained.dense.state_dict())
        model.pooler = None  # `encoder.pooler` takes its place
        saving.load_pooler(encoder.pooler, name)
        return encoder.eval()

    def save(self, folder: str | Path, normalize: bool = False, card: str = "") -> Path:
        """Writes a folder that SentenceTransformer, AutoModel and `Encoder.load` read.

        `normalize` adds a layer that gives every vector length 1. `card` is the README.md.
        """
        return saving.save(self, Path(folder), normalize, card)

    def randomize(self, seed: int) -> None:
        """Puts random weights in place of the pre-trained ones, the pooler's excepted."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = AutoModel.from_config(self.model.config)
        model.pooler = None
        self.model = model.to(self.device).eval()

    @property
    def width(self) -> int:
        return self.model.config.hidden_size

    @property
    def device(self) -> torch.device:
        return self.model.get_input_embeddings().weight.device

    def _offset(self) -> int:
        config = self.model.config
        return config.pad_token_id + 1 if config.model_type in OFFSETS else 0

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
        embedded, tokens = self.states(self.model, words, padded, positions, self.pooling)
        if self.pooling in FIRST_TOKEN:
            return tokens[:, 0]
        if self.pooling == "first_last":
            tokens = (embedded + tokens) / 2
        weight = mask[..., None].to(tokens.dtype)
        return (tokens * weight).sum(1) / weight.sum(1)

    def tokenize(self, sentences: Sequence[str], max_length: int | None = None) -> list[list[int]]:
        """Token ids with special tokens, truncated to `max_length` (default: the encoder's)."""
        if not len(sentences):
            return []
        return token_ids(self.tokenizer, tuple(sentences), max_length or self.max_length)

    def pad(
        self, ids: list[list[int]]
    ) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
        """Token ids and mask on the encoder's device, as long as the longest sentence."""
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


def _unusable(name: str | Path, cause: Exception) -> InputError:
    if isinstance(cause, InputError):
        return cause
    first = (str(cause).splitlines() or [""])[0]
    if Path(name).is_dir():
        return InputError(f"encoder {str(name)!r} is damaged: {first}.")
    return InputError(
        f"encoder {str(name)!r} is no folder with a model, and the hub did not give it "
        f"({type(cause).__name__}); check the name or the connection."
    )


def _check_complete(name: str | Path, tokenizer, report: dict) -> None:
    """Raises InputError where transformers would make up weights or an empty vocabulary."""
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise InputError(f"encoder {str(name)!r} is damaged: its tokenizer has no words.")
    mismatched = [entry[0] for entry in report.get("mismatched_keys", ())]
    lost = [k for k in (*report["missing_keys"], *mismatched) if "pooler" not in k]
    if lost:
        raise InputError(
            f"encoder {str(name)!r} is damaged: {len(lost)} of its weights are missing or have "
            f"another shape, among them {lost[0]!r}."
        )


def make_identity(part: nn.Module) -> None:
    """Makes a linear layer the identity (cut, or filled with zeros, where it is not square).

    Heads that start as the identity hand on the encoder's vectors from the first step. The
    encoder would have to adapt to random ones, which costs a small encoder what it has learnt.
    """
    if isinstance(part, nn.Linear):
        nn.init.eye_(part.weight)
        nn.init.zeros_(part.bias)
