"""A step of the authors' own code, in a process and an environment of its own."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from mocose_lib import InputError
from mocose_study.config import Config
from mocose_study.systems.base import load_encoder, training_ids

STEP = Path(__file__).with_name("authors_step.py")
SHAPE = "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size".split()


def timed(folder: Path, config: Config, seconds: float) -> dict[str, float]:
    """Seconds a step of the checkout in `folder`, with the versions of its .venv, else with ours.

    All sentences are padded to the greatest length. Raises InputError when their code fails, with
    its last line.
    """
    encoder = load_encoder(config, "cpu")
    ids = {"input_ids": training_ids(config, encoder)["input_ids"][:]}
    padded = encoder.tokenizer.pad(ids, padding="max_length", max_length=config.max_length)
    request = {
        "encoder": {name: getattr(encoder.model.config, name) for name in SHAPE},
        "ids": padded["input_ids"],
        "padding": encoder.tokenizer.pad_token_id,
        "seconds": seconds,
        "config": asdict(config),
    }
    own = folder.resolve() / ".venv" / "bin" / "python"
    command, text = [own if own.exists() else sys.executable, STEP], json.dumps(request)
    found = subprocess.run(command, input=text, cwd=folder, capture_output=True, text=True)
    if found.returncode:
        last = (found.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"the authors' code failed: {last}; see the recipe in 90_speed.")
    return json.loads(found.stdout.splitlines()[-1])
