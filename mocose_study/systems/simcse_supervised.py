"""Supervised SimCSE (Gao et al. 2021, eq. 5): premise, entailed and contradicted hypothesis.

-log of exp(s(h_i, h+_i)) / sum_j (exp(s(h_i, h+_j)) + a^[i = j] exp(s(h_i, h-_j))), s = cos / t.
`hard_negative_weight` is a. The paper's choice here is `mlp` "always". Deviations: as in `simcse`.
"""

import math
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn import functional as F

from mocose_lib import Encoder, InputError
from mocose_lib.shapes import Vectors
from mocose_study.config import Config
from mocose_study.data.benchmarks import read_table
from mocose_study.data.corpora import tokenized

from .base import check_positions, data_file
from .simcse import SimCSE

COLUMNS = ("sent0", "sent1", "hard_neg")


def read_triplets(path: Path) -> pd.DataFrame:
    """A tab-separated file, or a quoted .csv. Raises InputError where a text is missing."""
    if path.suffix == ".csv":
        try:
            frame = pd.read_csv(path, keep_default_na=False, dtype=str)
        except ValueError as cause:  # empty, no table, or no UTF-8
            raise InputError(
                f"{path.name} cannot be read as a table: {cause}."
            ) from cause
    else:
        frame = read_table(path)
    if "hard_neg" not in frame or (frame["hard_neg"].str.strip() == "").all():
        raise InputError(
            f"{path.name} has no contradictions; it needs the columns {COLUMNS}."
        )
    if missing := [
        c for c in COLUMNS if c not in frame or (frame[c].str.strip() == "").any()
    ]:
        raise InputError(
            f"{path.name} lacks a text in column {missing[0]!r} of {list(COLUMNS)}."
        )
    return frame[list(COLUMNS)]


def triplet_loss(
    query: Vectors,
    keys: Vectors,
    hard: Vectors,
    temperature: float,
    weight=1.0,
    similarity="cosine",
) -> Float[Tensor, ""]:
    """Equation 5, mean over the batch, in nats and float32; `weight` 0 leaves a row's own out.

    With `similarity` "dot" the dot product replaces the cosine (Table D.1).
    """
    with torch.autocast(query.device.type, enabled=False):
        query, keys, hard = query.float(), keys.float(), hard.float()
        if similarity == "cosine":
            query, keys, hard = (F.normalize(x, dim=-1) for x in (query, keys, hard))
        log_weight = math.log(weight) if weight else -math.inf
        against = query @ hard.T / temperature
        against = against + torch.diag(against.new_full((len(query),), log_weight))
        logits = torch.cat(
            [query @ keys.T / temperature, against], dim=1
        )  # (batch, 2 batch)
        return F.cross_entropy(logits, torch.arange(len(query), device=query.device))


class SupervisedSimCSE(SimCSE):
    def __init__(
        self, config: Config, encoder: Encoder, inputs: list[datasets.Dataset]
    ):
        rows = np.arange(len(inputs[0]))
        super().__init__(config, encoder, (inputs[0], rows, rows))
        self.columns = inputs

    @staticmethod
    def inputs(
        config: Config, encoder: Encoder, bar: bool = False
    ) -> list[datasets.Dataset]:
        """Token ids of the three columns. Raises InputError as `read_triplets`."""
        check_positions(config, encoder)
        frame = read_triplets(data_file(config.triplets))
        texts = (
            datasets.Dataset.from_dict({"sentence": frame[c].tolist()}) for c in COLUMNS
        )
        return [tokenized(t, encoder.tokenizer, config.max_length) for t in texts]

    def triplet_loss(
        self, premise: list, entailed: list, contradicted: list, generator
    ) -> Tensor:
        c = self.config
        if not c.hard_negatives:
            return self.loss(premise, entailed, generator)
        query, keys = self.views(premise, entailed, generator)
        hard = self.vectors(contradicted, second=True)
        weight = c.hard_negative_weight
        loss = triplet_loss(query, keys, hard, c.temperature, weight, c.similarity)
        return loss + self.auxiliary(premise, generator)

    def batch_loss(self, rows: np.ndarray, generator: Generator) -> Float[Tensor, ""]:
        texts = (column[rows]["input_ids"] for column in self.columns)
        return self.triplet_loss(*texts, generator)
