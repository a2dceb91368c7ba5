"""Files that exist whole or not at all."""

import glob
import os
from collections.abc import Callable
from pathlib import Path

import psutil


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
        if writer.isdigit() and not psutil.pid_exists(int(writer)):
            part.unlink(missing_ok=True)


def sweep_below(folder: Path) -> None:
    """The same for every file below `folder`."""
    for part in folder.rglob(".*.*"):
        sweep(part.with_name(part.stem[1:]))
