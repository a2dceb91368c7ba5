"""What pre-training reads: a WordPiece vocabulary, and batches with masked tokens."""

import datasets
import numpy as np
from transformers import BertTokenizerFast

from mocose_study.config.profiles import PretrainConfig
from mocose_study.rewriting.tokens import mask_tokens

PAD, UNK, CLS, SEP, MASK = range(5)  # the words of a tokenizer before it has learnt any


def train_tokenizer(sentences, vocab_size: int) -> BertTokenizerFast:
    """A lower-casing WordPiece tokenizer learnt from `sentences` (an iterable of str)."""
    empty = BertTokenizerFast(do_lower_case=True)
    return empty.train_new_from_iterator(sentences, vocab_size, show_progress=False)


class Batches:
    """Endless batches of token ids from documents, alternating between two fixed shapes.

    Sentence pairs fill (tokens / 2n, 2n) arrays, half of them with a random second sentence;
    single sentences fill (tokens / n, n) arrays, n = `config.sentence_length`.
    Batch number i depends on (seed, i) alone, so that a resumed run sees the same data.
    """

    def __init__(self, config: PretrainConfig, documents: datasets.Dataset):
        self.config = config
        table = documents.data.table.combine_chunks()
        ids = table.column("input_ids").chunk(0)
        self.tokens = ids.values.to_numpy()
        self.offsets = ids.offsets.to_numpy()
        self.document = table.column("document").to_numpy()

    def sentence(self, i: int, length: int) -> np.ndarray:
        return self.tokens[self.offsets[i] : min(self.offsets[i + 1], self.offsets[i] + length)]

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """input_ids, original and token_type_ids (n, length); is_next (n,), -1 where single.

        All are int64; `masked` adds what the model has to predict.
        """
        rng = np.random.default_rng([self.config.seed, step])
        pairs = step % 2 == 0
        length = self.config.sentence_length * (2 if pairs else 1)
        n = self.config.tokens_per_batch // length
        ids = np.full((n, length), PAD, np.int64)
        types = np.zeros((n, length), np.int64)
        is_next = np.full(n, -1)
        for row, i in enumerate(rng.integers(0, len(self.document) - 1, n)):
            text = [CLS, *self.sentence(i, self.config.sentence_length - 2), SEP]
            if pairs:
                j = i + 1
                is_next[row] = self.document[i] == self.document[j] and rng.random() < 0.5
                if not is_next[row]:
                    j = rng.integers(0, len(self.document))
                second = [*self.sentence(j, length - len(text) - 1), SEP]
                types[row, len(text) : len(text) + len(second)] = 1
                text += second
            ids[row, : len(text)] = text
        return {"token_type_ids": types, "is_next": is_next} | self.masked(ids, rng)

    def masked(self, ids: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The ids with 15 % of the ordinary tokens masked, the flat places of these, and the ids.

        `positions` has the same length in every batch of a shape, padded with -100 targets: on a
        CPU, a new shape costs more than a few wasted rows.
        """
        words = (MASK + 1, self.config.vocab_size)
        shown, places = mask_tokens(ids, range(MASK + 1), self.config.masked, MASK, words, rng)
        rest = (0, int(self.config.masked * ids.size) - len(places))
        positions = np.pad(places, rest)
        targets = np.pad(ids.flatten()[places], rest, constant_values=-100)
        return {"input_ids": shown, "original": ids, "positions": positions, "targets": targets}
