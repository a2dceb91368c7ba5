"""Supervised SimCSE (Gao et al. 2021, eq. 5): premise, entailed and contradicted text.

-log of exp(s(h_i, h+_i)) / sum_j (exp(s(h_i, h+_j)) + a^[i = j] exp(s(h_i, h-_j))),
s = cos / t. `hard_negative_weight` is a. The paper's choice here is `mlp` "always".
With `positives` "contradiction" (its Table 4) h+ is the contradicted text.
Deviations: as in `simcse`.
"""

from pathlib import Path

import datasets
import numpy as np
import pandas as pd
from torch import Generator

from mocose_lib import Encoder, InputError
from mocose_lib.shapes import Scalar
from mocose_study.config import Config
from mocose_study.data.benchmarks import read_table
from mocose_study.data.corpora import tokenized
from mocose_study.data.sources import data_file

from .base import check_positions
from .simcse import SimCSE

COLUMNS = ["sent0", "sent1", "hard_neg"]
OWN = """mlp mlm_weight two_encoders positives triplets hard_negatives
hard_negative_weight"""


def read_triplets(path: Path) -> pd.DataFrame:
    """A tab-separated file, or a quoted .csv. Raises InputError where a text lacks."""
    try:
        if path.suffix == ".csv":
            frame = pd.read_csv(path, keep_default_na=False, dtype=str)
        else:
            frame = read_table(path)
    except ValueError as cause:  # empty, no table, or no UTF-8
        raise InputError(f"{path.name} cannot be read as a table: {cause}.") from cause
    for name in COLUMNS:
        if name not in frame:
            raise InputError(f"{path.name} has no column {name!r} of {COLUMNS}.")
        if (frame[name].str.strip() == "").any():
            raise InputError(f"{path.name} lacks a text in column {name!r}.")
    return frame[COLUMNS]


class SupervisedSimCSE(SimCSE):
    name, label, colour = "simcse_supervised", "SimCSE supervised", "#8C4A00"
    reads, own = ("encoder", "triplets"), tuple(OWN.split())

    def __init__(self, config: Config, encoder: Encoder, inputs: list):
        rows = np.arange(len(inputs[0]))
        super().__init__(config, encoder, (inputs[0], rows, rows))
        self.columns = inputs

    @staticmethod
    def inputs(config: Config, encoder: Encoder, bar: bool = False) -> list:
        """Token ids of the three columns. Raises InputError as `read_triplets`."""
        check_positions(config, encoder)
        frame = read_triplets(data_file(config.triplets))
        order = (0, 1, 2) if config.positives == "same" else (0, 2, 1)
        texts = ({"sentence": frame[COLUMNS[i]].tolist()} for i in order)
        tables = map(datasets.Dataset.from_dict, texts)
        return [tokenized(t, encoder.tokenizer, config.max_length) for t in tables]

    @staticmethod
    def contradictions(config: Config):
        if config.positives not in ("same", "contradiction"):
            yield f"triplets have no positives {config.positives!r}; leave it out."
        if config.positives == "contradiction" and config.hard_negatives:
            what = "a contradiction cannot be positive and hard negative at once"
            yield f"{what}; set hard_negatives = False."

    def batch_loss(self, rows: np.ndarray, generator: Generator) -> Scalar:
        first, second, hard = (column[rows]["input_ids"] for column in self.columns)
        hard = hard if self.config.hard_negatives else []
        return self.loss(first, second, generator, hard)
