"""A pre-trained encoder as a map from sentences to vectors."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from . import saving
from .loading import open_model, position_rows, readable
from .settings import InputError, Positive, Range, Settings, Share, check
from .shapes import Ids, Mask, Positions, Vectors, Words

Pooling = Literal["cls", "cls_pooler", "mean", "first_last"]
Length = Annotated[int, Range(3)]  # in tokens: two of them are [CLS] and [SEP]
FIRST_TOKEN = ("cls", "cls_pooler")  # poolings that read the first token alone


def hidden_states(
    model: nn.Module,
    words: Words,
    mask: Mask | None,
    positions: Positions | None,
    pooling: str,
) -> tuple[Tensor | None, Tensor]:
    """Outputs (batch, length, width) of embeddings and last layer; no mask: no padding.

    The first is None unless it is pooled. A faster function may replace this one in
    an `Encoder`; for FIRST_TOKEN its second output may be (batch, 1, width).
    """
    given = {"attention_mask": None if mask is None else mask.long()}
    given |= {"position_ids": positions, "inputs_embeds": words}
    outputs = model(**given, output_hidden_states=pooling == "first_last")
    return (outputs.hidden_states or (None,))[0], outputs.last_hidden_state


class Encoder(nn.Module):
    """A BERT- or RoBERTa-like model with its tokenizer and a pooling.

    "cls" takes the first token of the last layer. "cls_pooler" applies the linear layer
    `pooler` to it: that of the checkpoint's next-sentence head, or a random one. "mean"
    averages the last layer over the real tokens, "first_last" embedding layer and last
    layer. `positions` is the number of tokens that the model can read.
    """

    hidden_states: Callable = staticmethod(hidden_states)
    save = saving.save

    def __init__(self, model: nn.Module, tokenizer, pooling="cls", max_length=128):
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.pooling = check("pooling", pooling, Pooling)
        self.offset, rows = position_rows(model)
        self.positions = rows - self.offset
        self.max_length = min(check("max_length", max_length, Length), self.positions)
        self.width = model.config.hidden_size
        self.layer_norm_eps = getattr(model.config, "layer_norm_eps", 1e-12)
        self.initializer_range = getattr(model.config, "initializer_range", 0.02)
        self.pooler = nn.Linear(self.width, self.width)
        self.pooler_trained = False
        self.dropout = 0.0  # the rate that `load` was asked for

    @classmethod
    def load(
        cls, name, pooling=None, layers=None, dropout=0.1, max_length=None
    ) -> "Encoder":
        """Loads a folder or a model of the hub, with `layers` layers (None: all).

        `max_length` is in tokens. None takes the pooling and the length that `save` or
        sentence-transformers left there, else "cls" and 128. A named pooling takes the
        place of their modules. Nothing there is executed. Raises InputError for what is
        not there, damaged, unlike BERT, or has modules that are not applied here.
        """
        dropout = check("dropout", dropout, Share)
        with readable(name):
            noted = saving.noted(name, pooling)
            model, tokenizer, pooler = open_model(name, layers, dropout, noted)
            length = noted["max_length"] if max_length is None else max_length
            encoder = cls(model, tokenizer, pooling or noted["pooling"], length)
            if pooler := noted["pooler"] or pooler:
                encoder.pooler.load_state_dict(pooler)
            encoder.pooler_trained, encoder.dropout = bool(pooler), dropout
            first = {tokenizer(text)["input_ids"][0] for text in ("", "a")}
            if encoder.pooling in FIRST_TOKEN and len(first) > 1:
                what = f"{name} puts no [CLS] before a sentence for {encoder.pooling!r}"
                raise InputError(f"{what}; set pooling = 'mean'.")
        return encoder.eval()

    @property
    def device(self) -> torch.device:
        return self.model.get_input_embeddings().weight.device

    def words(self, ids: Ids) -> Words:
        """Word embeddings alone; FGSM and the cut-offs act on them."""
        return self.model.get_input_embeddings()(ids)

    def forward(
        self, words: Words, mask: Mask, positions: Positions | None = None
    ) -> Vectors:
        """Pooled vectors from word embeddings; `positions` (from 0) in any order."""
        if positions is not None:
            positions = positions + self.offset
        padded = None if bool(mask.all()) else mask
        given = (self.model, words, padded, positions, self.pooling)
        embedded, tokens = self.hidden_states(*given)
        if self.pooling in FIRST_TOKEN:
            return tokens[:, 0]
        if self.pooling == "first_last":
            tokens = (embedded + tokens) / 2
        weight = mask[..., None].to(tokens.dtype)
        return (tokens * weight).sum(1) / weight.sum(1)

    def check_views(self, settings: Settings) -> None:
        """Raises InputError where dropout, or a shuffle of positions, has no effect."""
        self.check_dropout()
        if settings.position_shuffle:
            self._check_differ(False, "position_shuffle", "set it to False")

    def check_pooler(self) -> None:
        """Raises InputError where the pooling needs a pooler that nobody trained."""
        if self.pooling == "cls_pooler" and not self.pooler_trained:
            raise InputError("this model has no pooler for 'cls_pooler'; set 'cls'.")

    def check_dropout(self) -> None:
        """Raises InputError where two passes in training are equal despite dropout."""
        if self.dropout and any(p.requires_grad for p in self.model.parameters()):
            self._check_differ(True, f"dropout = {self.dropout}", "set dropout = 0")

    @torch.no_grad()
    def _check_differ(self, training: bool, what: str, instead: str) -> None:
        """Raises InputError where two passes in training, or two orders, are equal."""
        ids = torch.arange(3, device=self.device).expand(16, 3)
        orders = (None, None) if training else (ids, ids.flip(1))
        with modes_kept(self), torch.random.fork_rng():
            self.train(training)
            one, other = (self(self.words(ids), ids >= 0, order) for order in orders)
        if torch.equal(one, other):
            what = f"{what} has no effect on this {self.model.config.model_type}"
            raise InputError(f"{what}; {instead}, or take a model like BERT.")

    def tokenize(self, sentences: Iterable[str], max_length: int | None = None):
        """Token ids with special tokens, one list per sentence, cut to `max_length`."""
        texts, length = listed(sentences), max_length or self.max_length
        options = {"truncation": True, "max_length": length, "verbose": False}
        options |= {"return_attention_mask": False, "return_token_type_ids": False}
        try:
            return self.tokenizer(texts, **options)["input_ids"] if texts else []
        except TypeError as cause:  # half of a surrogate pair
            raise InputError("a sentence holds what is no Unicode text.") from cause

    def pad(self, ids: list[list[int]]) -> tuple[Ids, Mask]:
        """Token ids and mask on the device, padded to the longest sentence."""
        sizes = torch.tensor([len(tokens) for tokens in ids])
        mask = torch.arange(int(sizes.max())) < sizes[:, None]
        padded = torch.full(mask.shape, self.tokenizer.pad_token_id)
        padded[mask] = torch.tensor([*chain(*ids)])  # row by row
        return padded.to(self.device), mask.to(self.device)

    @torch.no_grad()
    def encode(
        self, sentences: Iterable[str], batch_size: int | None = None, distort=None
    ) -> Float[np.ndarray, "n width"]:
        """Float32 embeddings, in order: dropout off; equal input gives equal bits.

        Each distinct sentence is encoded once, in batches of similar length: 128, or
        1,024 on a GPU. `distort` maps (words, mask) to what `forward` gets instead.
        """
        if batch_size is None:
            batch_size = 128 if self.device.type == "cpu" else 1024
        check("batch_size", batch_size, Positive)
        self.check_pooler()
        sentences = listed(sentences)
        place = {sentence: i for i, sentence in enumerate(dict.fromkeys(sentences))}
        ids = self.tokenize(list(place))
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = np.empty((len(ids), self.width), np.float32)
        with modes_kept(self):
            self.eval()
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                padded, mask = self.pad([ids[i] for i in rows])
                given = self.words(padded), mask
                pooled = self(*(distort(*given) if distort else given))
                pooled = self.pooler(pooled) if self.pooling == "cls_pooler" else pooled
                vectors[rows] = pooled.float().cpu().numpy()
        return vectors[[place[sentence] for sentence in sentences]]


@contextmanager
def modes_kept(module: nn.Module) -> Iterator[None]:
    """Training or not: each part of a module is afterwards what it was before."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def listed(sentences: Iterable[str]) -> list[str]:
    """The sentences as a list. Raises InputError for one text, a table, or no text."""
    odd = isinstance(sentences, str | Mapping) or not isinstance(sentences, Iterable)
    if odd or hasattr(sentences, "columns"):
        raise InputError("sentences must be a list of texts, not one text or a table.")
    sentences = list(sentences)
    for odd in (sentence for sentence in sentences if not isinstance(sentence, str)):
        raise InputError(f"sentences must be texts, but one of them is {odd!r:.60}.")
    return sentences
