"""Files that exist whole or not at all."""

import os
import platform
from pathlib import Path

import psutil

HOST = platform.node()  # of a shared file system: each machine numbers its processes


def write_atomically(path: Path, content: str | bytes) -> Path:
    """Writes a temporary file, then renames it to `path` in one step; text as UTF-8.

    A kill at any moment leaves the old file or the new one, never a part. The next
    write, or `sweep`, removes what a killed process left of the temporary file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path.parent, path.name)
    part = path.with_name(f".{path.name}.{HOST}.{os.getpid()}")
    try:
        with open(part, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def sweep(folder: Path, name: str = "") -> None:
    """Removes what killed processes of this machine left: of a file, or anywhere."""
    look = folder.glob if name else folder.rglob
    for part in look(f".{name or '*'}.{HOST}.*"):
        writer = part.suffix[1:]
        if writer.isdigit() and not psutil.pid_exists(int(writer)):
            part.unlink(missing_ok=True)
