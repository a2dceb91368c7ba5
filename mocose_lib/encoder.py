"""A pre-trained encoder as a map from sentences to vectors."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer

from . import saving
from .loading import adapt, check_complete, content, position_rows, readable
from .settings import InputError, Range, check
from .shapes import Ids, Mask, Positions, Vectors, Words

Pooling = Literal["cls", "cls_pooler", "mean", "first_last"]
FIRST_TOKEN = ("cls", "cls_pooler")  # poolings that read the first token alone


@lru_cache(
    maxsize=8
)  # the sentences of a benchmark are tokenised once, not at every evaluation
def token_ids(
    tokenizer, state, sentences: tuple[str, ...], limit: int
) -> list[list[int]]:
    """Token ids with special tokens, truncated to `limit`; `state` is that of `content`."""
    return tokenizer(list(sentences), truncation=True, max_length=limit)["input_ids"]


def states(
    model: nn.Module,
    words: Words,
    mask: Mask | None,
    positions: Positions | None,
    pooling: str,
) -> tuple[Tensor | None, Tensor]:
    """Outputs (batch, length, width) of embedding layer and last layer; no mask: no padding.

    The first is None unless it is pooled. A faster function may take this one's place in
    `Encoder.states`; its second output may be (batch, 1, width) for FIRST_TOKEN.
    """
    attention = None if mask is None else mask.long()
    options = {
        "position_ids": positions,
        "output_hidden_states": pooling == "first_last",
    }
    found = model(inputs_embeds=words, attention_mask=attention, **options)
    return (found.hidden_states or (None,))[0], found.last_hidden_state


class Encoder(nn.Module):
    """A BERT- or RoBERTa-like model with its tokenizer and a pooling.

    "cls" takes the first token of the last layer. "cls_pooler" applies the linear layer `pooler`
    to it: that of the checkpoint's next-sentence head, or a random one. "mean" averages the last
    layer over the real tokens, "first_last" embedding layer and last layer. `positions` is the
    number of tokens that the model can read. `pooler_trained` says whether the pooler was loaded.
    """

    states: Callable = staticmethod(states)

    def __init__(
        self, model: nn.Module, tokenizer, pooling: str = "cls", max_length=128
    ):
        super().__init__()
        check("pooling", pooling, Pooling, Range(0))
        check("max_length", max_length, int, Range(3))
        config = model.config
        self.model, self.tokenizer, self.pooling = model, tokenizer, pooling
        self.offset, rows = position_rows(model)
        self.positions = rows - self.offset
        self.max_length = min(max_length, self.positions)
        self.width = config.hidden_size
        self.layer_norm_eps = getattr(config, "layer_norm_eps", 1e-12)
        self.initializer_range = getattr(config, "initializer_range", 0.02)
        self.pooler = nn.Linear(self.width, self.width)
        self.pooler_trained = False
        self.dropout = 0.0  # the rate that `load` was asked for

    @classmethod
    def load(
        cls,
        name,
        pooling=None,
        layers=None,
        dropout=0.1,
        max_length=None,
        revision=None,
    ) -> "Encoder":
        """Loads a folder, or a model of the hub, and keeps its first `layers` layers (None: all).

        `max_length` is in tokens. None takes the pooling and the length that `save` or
        sentence-transformers left in a folder, else "cls" and 128. Nothing there is executed. Raises
        InputError for what is not there, damaged weights, and models like T5.
        """
        check("dropout", dropout, float, Range(0, 0.9))
        trusted = {"trust_remote_code": False, "revision": revision}
        with readable(name):
            config = AutoConfig.from_pretrained(name, **trusted)
            known = getattr(config, "num_hidden_layers", None)
            if known is None or not hasattr(config, "max_position_embeddings"):
                raise InputError(
                    f"{name} is a {config.model_type}; give a model like BERT."
                )
            check("encoder_layers", layers, int | None, Range(1, known))
            config.num_hidden_layers = layers or known
            adapt(config, known, dropout)
            model, report = AutoModel.from_pretrained(
                name,
                config=config,
                dtype=torch.float32,
                output_loading_info=True,
                **trusted,
            )
            tokenizer = AutoTokenizer.from_pretrained(name, **trusted)
            check_complete(name, tokenizer, report)
            for (
                part
            ) in model.modules():  # models name the rate differently in their config
                if isinstance(part, nn.Dropout):
                    part.p = dropout
            noted = {"pooling": "cls", "max_length": 128} | saving.noted(Path(name))
            length = noted["max_length"] if max_length is None else max_length
            encoder = cls(model, tokenizer, pooling or noted["pooling"], length)
            encoder.dropout = dropout
            trained = getattr(model, "pooler", None)
            if trained is not None and not any(
                "pooler" in key for key in report["missing_keys"]
            ):
                encoder.pooler.load_state_dict(
                    getattr(trained, "dense", trained).state_dict()
                )
                encoder.pooler_trained = True
            model.pooler = None  # `encoder.pooler` takes its place
            encoder.pooler_trained |= saving.load_pooler(encoder.pooler, Path(name))
        return encoder.eval()

    def save(self, folder: str | Path, normalize: bool = False) -> Path:
        """Writes a folder that SentenceTransformer, AutoModel and `Encoder.load` read."""
        return saving.save(self, Path(folder), normalize)

    @property
    def device(self) -> torch.device:
        return self.model.get_input_embeddings().weight.device

    def words(self, ids: Ids) -> Words:
        """Word embeddings alone: what FGSM and the cut-offs act on."""
        return self.model.get_input_embeddings()(ids)

    def forward(
        self, words: Words, mask: Mask, positions: Positions | None = None
    ) -> Vectors:
        """Pooled vectors from word embeddings; `positions` (from 0) may be in any order."""
        if positions is not None:
            positions = positions + self.offset
        padded = None if bool(mask.all()) else mask
        embedded, tokens = self.states(
            self.model, words, padded, positions, self.pooling
        )
        if self.pooling in FIRST_TOKEN:
            return tokens[:, 0]
        if self.pooling == "first_last":
            tokens = (embedded + tokens) / 2
        weight = mask[..., None].to(tokens.dtype)
        return (tokens * weight).sum(1) / weight.sum(1)

    @torch.no_grad()
    def check_dropout(self) -> None:
        """Raises InputError where two passes in training are equal in spite of dropout."""
        if not (self.dropout and any(p.requires_grad for p in self.model.parameters())):
            return
        training, ids = self.training, torch.arange(3, device=self.device).expand(16, 3)
        both = self.words(ids), ids >= 0
        with torch.random.fork_rng():
            one, other = self.train()(*both), self(*both)
        self.train(training)
        if torch.equal(one, other):
            why = f"dropout = {self.dropout} has no effect on this"
            instead = "set dropout = 0, or take a model like BERT."
            raise InputError(f"{why} {self.model.config.model_type}; {instead}")

    def tokenize(
        self, sentences: Iterable[str], max_length: int | None = None
    ) -> list[list[int]]:
        """Token ids with special tokens, truncated to `max_length` (default: the encoder's)."""
        texts, limit = tuple(listed(sentences)), max_length or self.max_length
        state = content(self.tokenizer)
        return token_ids(self.tokenizer, state, texts, limit) if texts else []

    def pad(self, ids: list[list[int]]) -> tuple[Ids, Mask]:
        """Token ids and mask on the encoder's device, as long as the longest sentence."""
        sizes = torch.tensor([len(tokens) for tokens in ids])
        mask = torch.arange(int(sizes.max())) < sizes[:, None]
        padded = torch.full(mask.shape, self.tokenizer.pad_token_id)
        padded[mask] = torch.tensor(
            [token for tokens in ids for token in tokens]
        )  # row by row
        return padded.to(self.device), mask.to(self.device)

    @torch.no_grad()
    def encode(
        self, sentences: Iterable[str], batch_size: int = 128, distort=None
    ) -> Float[np.ndarray, "n width"]:
        """Float32 embeddings in the order of `sentences`: dropout off, equal input, equal bits.

        Every distinct sentence is encoded once, in batches of similar length. `distort` maps
        (words, mask) to what `forward` gets instead.
        """
        check("batch_size", batch_size, int, Range(1))
        if self.pooling == "cls_pooler" and not self.pooler_trained:
            raise InputError(
                "pooling 'cls_pooler' reads a pooler that this model does not have; set 'cls'."
            )
        sentences = listed(sentences)
        place = {sentence: i for i, sentence in enumerate(dict.fromkeys(sentences))}
        ids = self.tokenize(list(place))
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = np.empty((len(ids), self.width), np.float32)
        training = self.training
        self.eval()
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            padded, mask = self.pad([ids[i] for i in rows])
            words = self.words(padded)
            found = self(*(distort(words, mask) if distort else (words, mask)))
            found = self.pooler(found) if self.pooling == "cls_pooler" else found
            vectors[rows] = found.float().cpu().numpy()
        self.train(training)
        return vectors[[place[sentence] for sentence in sentences]]


def listed(sentences: Iterable[str]) -> list[str]:
    """The sentences as a list. Raises InputError for one text, a table, or what is no text."""
    if isinstance(sentences, str) or hasattr(sentences, "columns"):
        raise InputError("sentences must be a list of texts, not one text or a table.")
    found = list(sentences)
    if odd := [sentence for sentence in found if not isinstance(sentence, str)]:
        raise InputError(f"sentences must be texts, but one of them is {odd[0]!r:.60}.")
    return found
