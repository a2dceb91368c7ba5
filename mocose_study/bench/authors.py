"""A step of the authors' own code, in a process and an environment of its own."""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mocose_lib import InputError
from mocose_study.config import Config
from mocose_study.systems.base import load_encoder, training_ids

STEP = Path(__file__).with_name("authors_step.py")


@dataclass(frozen=True)
class Checkout:
    """A checkout of the authors' public repository, with their versions in its folder .venv.

    Without such a folder this Python is used. Raises InputError when `folder` has no mocose.py.
    """

    folder: Path

    def __post_init__(self):
        if not (self.folder / "mocose.py").is_file():
            raise InputError(f"{self.folder} is no checkout of the authors' code: no mocose.py.")

    def timed(self, config: Config, seconds: float) -> dict[str, float]:
        """Seconds a step. Raises InputError when their code fails, with its last line."""
        python = self.folder / ".venv" / "bin" / "python"
        with tempfile.TemporaryDirectory() as folder:
            request = Path(folder) / "request.json"
            request.write_text(json.dumps(_request(config, seconds, Path(folder) / "ids.npy")))
            command = [str(python if python.exists() else sys.executable), STEP, request]
            found = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if found.returncode:
            last = (found.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"the authors' code failed: {last}; see the recipe in 90_speed.")
        return json.loads(found.stdout.splitlines()[-1])


def _request(config: Config, seconds: float, ids: Path) -> dict:
    """What `authors_step.py` needs: shapes, numbers, and token ids padded to one length."""
    encoder = load_encoder(config, "cpu")
    rows = training_ids(config, encoder)["input_ids"][:]
    padded = np.full((len(rows), config.max_length), encoder.tokenizer.pad_token_id)
    for row, tokens in zip(padded, rows, strict=True):
        row[: len(tokens)] = tokens
    np.save(ids, padded)
    shape = encoder.model.config.to_dict()
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    numbers = ("batch_size", "lr", "weight_decay", "max_grad_norm", "ema_decay")
    return {
        "encoder": {name: shape[name] for name in (*names, "vocab_size")},
        "ids": str(ids),
        "padding": encoder.tokenizer.pad_token_id,
        "seconds": seconds,
        "config": {name: getattr(config, name) for name in (*numbers, "queue_size", "queue_init")},
    }
