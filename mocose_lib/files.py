"""Files that exist whole or not at all, and checkpoints that are data, not code."""

import glob
import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import torch

from .settings import InputError

DIGEST = 32  # bytes of a sha256


def write_atomically(path: Path, write: Callable[[Path], object]) -> Path:
    """Calls `write(temporary_path)`, then renames it to `path` in one step.

    A kill at any moment leaves either the old file or the new one, never a part of it. The next
    write, or `sweep`, removes what a killed process left of the temporary file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def sweep(path: Path) -> None:
    """Removes what killed processes left of their unfinished writes of `path`."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*"):
        writer = part.suffix[1:]
        if writer.isdigit() and not _alive(int(writer)):
            part.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)  # signal 0 only asks
    except OSError as refused:
        return isinstance(refused, PermissionError)
    return True


def save_state(path: Path, state: dict) -> None:
    """Writes tensors and plain values atomically, behind the sha256 of what follows it."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    digest = hashlib.sha256(content).digest()
    write_atomically(path, lambda temporary: temporary.write_bytes(digest + content))


def load_state(path: Path, device: str | torch.device = "cpu") -> dict:
    """What `save_state` wrote. Nothing in the file is executed.

    Raises InputError when the file is damaged; torch raises for all but tensors and plain values.
    """
    content = path.read_bytes()
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        raise InputError(f"{path.name} is damaged: its content does not match its digest.")
    return torch.load(io.BytesIO(content[DIGEST:]), map_location=device, weights_only=True)
