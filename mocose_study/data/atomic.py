"""Files that exist whole or not at all."""

import glob
import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

HOST = platform.node()  # other machines of a shared file system number their processes themselves


def write_atomically(path: Path, write: Callable[[Path], object]) -> Path:
    """Calls `write(temporary_path)`, then renames it to `path` in one step.

    A kill at any moment leaves either the old file or the new one, never a part of it. The next
    write, or `sweep`, removes what a killed process left of the temporary file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path)
    part = temporary(path)
    try:
        write(part)
        with open(part, "rb") as written:
            os.fsync(written.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def temporary(path: Path) -> Path:
    """Where this process may write what is to become `path`; `sweep` and `sweep_below` know it."""
    return path.with_name(f".{path.name}.{HOST}.{os.getpid()}")


def sweep(path: Path) -> None:
    """Removes what killed processes of this machine left of their unfinished writes of `path`."""
    _remove_dead(path.parent.glob(f".{glob.escape(path.name)}.{HOST}.*"))


def sweep_below(folder: Path) -> None:
    """The same for every file below `folder`."""
    _remove_dead(folder.rglob(f".*.{HOST}.*"))


def _remove_dead(parts: Iterable[Path]) -> None:
    for part in parts:
        writer = part.suffix[1:]
        if writer.isdigit() and not psutil.pid_exists(int(writer)):
            part.unlink(missing_ok=True)
