"""Checkpoints that exist whole or not at all, and that are data, not code."""

import hashlib
import io
import os
from pathlib import Path

import torch

from .settings import InputError

DIGEST = 32  # bytes of a sha256


def save_state(path: Path, state: dict) -> None:
    """Writes tensors and plain values behind the sha256 of what follows; a kill leaves no part."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_state(path: Path, device: str | torch.device = "cpu") -> dict:
    """What `save_state` wrote. Nothing in the file is executed.

    Raises InputError when the file is damaged; torch raises for all but tensors and plain values.
    """
    content = path.read_bytes()
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        raise InputError(f"{path.name} is damaged: its content does not match its digest.")
    return torch.load(io.BytesIO(content[DIGEST:]), map_location=device, weights_only=True)
