"""Files that exist whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> Path:
    """Calls `write(temporary_path)`, then renames it to `path` in one step.

    A kill at any moment leaves either the old file or the new one, never a part of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def study_folder() -> Path:
    """Where `data/`, `notebooks/` and `figures/` live.

    MOCOSE_STUDY if set; else the checkout this package is installed from; else the current folder.
    """
    checkout = Path(__file__).resolve().parents[1]
    default = checkout if (checkout / "notebooks").is_dir() else Path.cwd()
    return Path(os.environ.get("MOCOSE_STUDY", default))


STUDY = study_folder()
