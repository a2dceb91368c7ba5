"""DeCLUTR (Giorgi et al. 2021, section 3): spans of one document are positives, plus masked words.

The positive of an anchor span is the mean vector of some spans around it, which overlap it, lie
inside it or touch it. All other spans of the batch are negatives. `corpus` has to be
"wiki_documents", which holds whole articles. The paper's pooling is "mean".
Deviations: spans have span_min to max_length - 2 tokens (in the paper 32 to 512). The anchors of a
document come from equal parts of it. Masked words are a second pass over the anchors.
"""

from itertools import chain, pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from mocose_lib import Encoder, InputError
from mocose_study.config import Config
from mocose_study.data.corpora import load_corpus, tokenized

from .base import System, check_positions, documents, numpy_generator
from .masked_words import MaskedWords


class Spans:
    """Documents as token arrays, and random spans of them.

    Raises InputError when fewer documents than a batch are long enough.
    """

    def __init__(self, config: Config, encoder: Encoder):
        check_positions(config, encoder)
        tokenizer = encoder.tokenizer
        self.config = config
        self.special = (tokenizer.cls_token_id, tokenizer.sep_token_id)
        ids = tokenized(load_corpus(config.corpus, config.corpus_size), tokenizer, None)
        first = np.flatnonzero(np.diff(documents(config, ids), prepend=-1))  # sentence of each
        lists = ids.data.table.combine_chunks().column("input_ids").chunk(0)
        bounds = lists.offsets.to_numpy()[[*first, len(lists)]]
        self.tokens = lists.values.to_numpy()
        self.starts, self.lengths = bounds[:-1], np.diff(bounds)
        least = 2 * config.span_anchors * config.max_length
        self.usable = np.flatnonzero(self.lengths >= least)
        if len(self.usable) < config.batch_size:
            raise InputError(
                f"corpus {config.corpus!r} has {len(self.usable)} documents of {least} tokens in "
                f"its first {config.corpus_size} sentences; batch_size = {config.batch_size} "
                "needs as many."
            )

    def span(self, document: int, start: int, length: int) -> list[int]:
        begin = self.starts[document] + start
        words = self.tokens[begin : begin + length].tolist()
        return [self.special[0], *words, self.special[1]]

    def size(self, a: float, b: float, rng) -> int:
        """A span's number of tokens, by Beta(a, b) between the shortest and the longest."""
        c = self.config
        return c.span_min + int(rng.beta(a, b) * (c.max_length - 1 - c.span_min))

    def draw(self, document: int, rng) -> tuple[list, list]:
        """Anchors (token lists), and their positives, `span_positives` in turn for each."""
        c, total = self.config, int(self.lengths[document])
        parts = np.linspace(0, total, c.span_anchors + 1).astype(int)
        anchors, positives = [], []
        for low, high in pairwise(parts):
            length = self.size(4, 2, rng)
            start = int(rng.integers(low, high - length + 1))
            anchors.append(self.span(document, start, length))
            for _ in range(c.span_positives):
                # anywhere from just before the anchor to just behind it
                size = self.size(2, 4, rng)
                begin = rng.integers(max(0, start - size), min(start + length, total - size) + 1)
                positives.append(self.span(document, int(begin), size))
        return anchors, positives


def nt_xent(
    anchors: Float[Tensor, "n width"], positives: Float[Tensor, "n width"], temperature: float
) -> Float[Tensor, ""]:
    """Mean over all 2n vectors of -log exp(s(e, e+)) / sum_{k != e} exp(s(e, e_k)), s = cos / t."""
    with torch.autocast(anchors.device.type, enabled=False):
        vectors = F.normalize(torch.cat([anchors, positives]).float(), dim=-1)
        logits = (vectors @ vectors.T / temperature).fill_diagonal_(-torch.inf)
        answer = torch.arange(len(vectors), device=vectors.device).roll(len(anchors))
        return F.cross_entropy(logits, answer)


class DeCLUTR(System):
    def __init__(self, config: Config, encoder: Encoder, inputs: Spans):
        torch.nn.Module.__init__(self)
        self.config, self.encoder, self.spans = config, encoder, inputs
        self.lengths = np.full(len(inputs.usable), config.max_length)  # not a document's own
        self.masked_words = MaskedWords(config, encoder)

    @staticmethod
    def inputs(config: Config, encoder: Encoder, bar: bool = False) -> Spans:
        return Spans(config, encoder)

    def batch_loss(self, rows: np.ndarray, generator: torch.Generator) -> Float[Tensor, ""]:
        rng, spans = numpy_generator(generator), self.spans
        drawn = [spans.draw(document, rng) for document in spans.usable[rows].tolist()]
        anchors, positives = zip(*drawn, strict=True)
        return self.loss([*chain(*anchors)], [*chain(*positives)], generator)

    def loss(self, anchors: list, positives: list, generator: torch.Generator) -> Float[Tensor, ""]:
        c, encoder = self.config, self.encoder
        ids, mask = encoder.pad(anchors)
        near, near_mask = encoder.pad(positives)
        mean = encoder(encoder.words(near), near_mask).unflatten(0, (len(anchors), -1)).mean(1)
        loss = nt_xent(encoder(encoder.words(ids), mask), mean, c.temperature)
        return loss + c.span_mlm_weight * self.masked_words(encoder, ids, mask, generator)
