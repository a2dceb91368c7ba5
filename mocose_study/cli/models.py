"""Commands for trained models."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro import MISSING
from tyro.conf import Positional

from .options import Data


@dataclass(frozen=True)
class Evaluate(Data):
    """Scores of a model: a folder, a name of the hub, or an encoder of the study."""

    # As `mocose run --save` wrote it, or any of transformers or sentence-transformers.
    model: Positional[str] = MISSING
    # Files of scored pairs; default: the STS tasks, or the open ones without data.
    sts: tuple[Path, ...] = ()
    transfer: bool = False  # Measures the seven transfer tasks, too.
    # Default: the one that the model was saved with, else cls.
    pooling: Literal["cls", "cls_pooler", "mean", "first_last"] | None = None
    json: bool = False  # Prints JSON.

    def main(self) -> None:
        from mocose_study.results import models

        pairs = models.pairs_of(self.sts)  # before the encoder, which takes longer
        encode = models.encode_of(self.model, self.pooling)
        models.show(models.measure(encode, pairs, self.transfer), self.json)


@dataclass(frozen=True)
class Embed:
    """Vectors of the lines of a text file, as a NumPy array on standard output."""

    model: Positional[str] = MISSING  # As for `mocose evaluate`.
    file: Positional[Path] = MISSING  # One sentence a line: .txt, .txt.xz or .txt.gz.

    def main(self) -> None:
        from mocose_study.config import InputError
        from mocose_study.results import models

        if sys.stdout.isatty():
            raise InputError("vectors are no text; add `> vectors.npy` to the command.")
        if not self.file.is_file():
            raise InputError(f"{self.file} is no file; give a text, a sentence a line.")
        models.embed(models.encode_of(self.model), self.file, sys.stdout.buffer)
