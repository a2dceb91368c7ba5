"""Checkpoints that exist whole or not at all, and that are data, not code."""

import hashlib
import io
import logging
import os
import time
from pathlib import Path

import torch

from mocose_study.config import InputError

from .atomic import sweep, write_atomically

log = logging.getLogger(__name__)
DIGEST = 32  # bytes of a sha256
SHARE = 0.02  # of a training's time that its checkpoints may take


class Checkpoint:
    """The file from which an interrupted training goes on, written now and then.

    `code` is that of this process. After `read`, `codes` has it behind the code of the
    training's earlier parts, each once. MOCOSE_CHECKPOINT_SECONDS (default: 30) lie
    between two writes, at least. Raises InputError when that is no number of seconds.
    """

    def __init__(self, path: Path, code: dict | None = None):
        text = os.environ.get("MOCOSE_CHECKPOINT_SECONDS", "30")
        if not text.isdecimal():
            what = "must be a whole number of seconds"
            raise InputError(f"MOCOSE_CHECKPOINT_SECONDS = {text!r} {what}.")
        self.path, self.seconds, self.codes = path, float(text), [code or {}]
        self.written, self.took = time.monotonic(), 0.0

    def due(self) -> bool:
        """Whether it is time for another `write`."""
        return time.monotonic() - self.written >= max(self.seconds, self.took / SHARE)

    def write(self, state: dict) -> None:
        """Tensors and plain values, behind the sha256 of what follows.

        Where they cannot be written, the log says so, and the training goes on.
        """
        started, buffer = time.monotonic(), io.BytesIO()
        torch.save(state | {"codes": self.codes}, buffer)
        whole = hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue()
        try:
            write_atomically(self.path, whole)
        except OSError as cause:
            log.warning("no checkpoint could be written, training goes on: %s", cause)
        self.written = time.monotonic()
        self.took = self.written - started

    def read(self, device: str | torch.device = "cpu") -> dict | None:
        """The state, or None where there is none. Nothing in the file is executed.

        A damaged file is dropped, and the log says so.
        """
        if not self.path.exists():
            return None
        try:
            content = self.path.read_bytes()
            if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
                raise ValueError("its content does not match its digest")
            state = torch.load(io.BytesIO(content[DIGEST:]), device, weights_only=True)
        except Exception as cause:  # unpickling a damaged file may raise anything
            why, name = str(cause).partition("\n")[0], self.path.name
            log.warning("%s cannot be used, training starts anew: %s", name, why)
            return self.path.unlink(missing_ok=True)
        before = state.pop("codes", [])
        self.codes = before + [code for code in self.codes if code not in before]
        return state

    def delete(self) -> None:
        """Removes the file, and what killed processes left of it."""
        self.path.unlink(missing_ok=True)
        sweep(self.path.parent, self.path.name)
