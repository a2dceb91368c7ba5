"""DeCLUTR (Giorgi et al. 2021, section 3): spans of one document are positives.

The positive of an anchor span is the mean vector of some spans around it, which overlap
it, lie inside it or touch it. All other spans of the batch are negatives. The loss of
masked words is added. `corpus` has to be "wiki_documents", which holds whole articles.
The paper's pooling is "mean". Deviations: spans have SHORTEST to max_length - 2 tokens
(in the paper 32 to 512). The anchors of a document come from equal parts of it. Masked
words are a second pass over the anchors.
"""

from itertools import chain, pairwise

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from mocose_lib import Encoder, InputError
from mocose_lib.shapes import Scalar, Vectors
from mocose_study.config import Config
from mocose_study.data.corpora import load_corpus, tokenized

from .base import Model, check_positions, documents
from .masked_words import MaskedWords, numpy_generator

SHORTEST = 8  # tokens of a span; the longest has max_length - 2
ANCHORS = 2  # of a document
POSITIVES = 2  # of an anchor


def nt_xent(anchors: Vectors, positives: Vectors, temperature: float) -> Tensor:
    """Mean over all 2n vectors of -log exp(s(e, e+)) / sum_{k != e} exp(s(e, e_k)).

    s is the cosine over the temperature.
    """
    with torch.autocast(anchors.device.type, enabled=False):
        vectors = F.normalize(torch.cat([anchors, positives]).float(), dim=-1)
        logits = (vectors @ vectors.T / temperature).fill_diagonal_(-torch.inf)
        answer = torch.arange(len(vectors), device=vectors.device).roll(len(anchors))
        return F.cross_entropy(logits, answer)


class DeCLUTR(Model):
    name, label, colour = "declutr", "DeCLUTR", "#44AA99"
    reads, own = ("encoder", "corpus"), ()
    saved_whole = staticmethod(lambda config: True)

    def __init__(self, config: Config, encoder: Encoder, inputs: list[np.ndarray]):
        super().__init__(config, encoder, inputs)
        self.masked_words = MaskedWords(config, encoder)

    @staticmethod
    def inputs(config: Config, encoder: Encoder, bar: bool = False) -> list[np.ndarray]:
        """Token ids of the documents that are long enough, without special tokens.

        Raises InputError when they are fewer than a batch.
        """
        check_positions(config, encoder)
        corpus = load_corpus(config.corpus, config.corpus_size)
        ids = tokenized(corpus, encoder.tokenizer, None)
        first = np.flatnonzero(np.diff(documents(config, ids))) + 1  # sentences
        lists = ids.data.table.combine_chunks().column("input_ids").chunk(0)
        texts = np.split(lists.values.to_numpy(), lists.offsets.to_numpy()[first])
        least = 2 * ANCHORS * config.max_length
        texts = [text for text in texts if len(text) >= least]
        if len(texts) < config.batch_size:
            raise InputError(
                f"corpus {config.corpus!r} has {len(texts)} documents of {least} "
                f"tokens in its first {config.corpus_size} sentences; batch_size = "
                f"{config.batch_size} needs as many."
            )
        return texts

    def size(self, a: float, b: float, rng: np.random.Generator) -> int:
        """A span's number of tokens, by Beta(a, b) from the shortest to the longest."""
        more = self.config.max_length - 1 - SHORTEST
        return SHORTEST + int(rng.beta(a, b) * more)

    def spans(self, text: np.ndarray, rng: np.random.Generator) -> tuple[list, list]:
        """Anchors of a document (token lists), and their positives, POSITIVES each."""
        words = self.encoder.tokenizer

        def span(start: int, size: int) -> list[int]:
            inside = text[start : start + size].tolist()
            return [words.cls_token_id, *inside, words.sep_token_id]

        anchors, positives = [], []
        for low, high in pairwise(np.linspace(0, len(text), ANCHORS + 1).astype(int)):
            length = self.size(4, 2, rng)
            start = int(rng.integers(low, high - length + 1))
            anchors.append(span(start, length))
            for _ in range(POSITIVES):
                # anywhere from just before the anchor to just behind it
                size = self.size(2, 4, rng)
                last = min(start + length, len(text) - size)
                begin = rng.integers(max(0, start - size), last + 1)
                positives.append(span(int(begin), size))
        return anchors, positives

    def batch_loss(self, rows: np.ndarray, generator: Generator) -> Scalar:
        rng = numpy_generator(generator)
        drawn = [self.spans(self.ids[row], rng) for row in rows]
        anchors, positives = zip(*drawn, strict=True)
        return self.loss([*chain(*anchors)], [*chain(*positives)], generator)

    def loss(self, anchors: list, positives: list, generator: Generator) -> Tensor:
        encoder = self.encoder
        ids, mask = encoder.pad(positives)
        near = encoder(encoder.words(ids), mask).unflatten(0, (len(anchors), -1))
        ids, mask = encoder.pad(anchors)
        vectors = encoder(encoder.words(ids), mask)
        loss = nt_xent(vectors, near.mean(1), self.config.temperature)
        return loss + self.masked_words(encoder, anchors, generator)

    @staticmethod
    def contradictions(config: Config):
        if config.max_length - 2 < SHORTEST:
            what = f"max_length = {config.max_length} leaves no span of {SHORTEST}"
            yield f"{what} tokens beside two special ones; set {SHORTEST + 2} or more."
