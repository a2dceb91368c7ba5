"""Files that exist whole or not at all."""

import glob
import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> Path:
    """Calls `write(temporary_path)`, then renames it to `path` in one step.

    A kill at any moment leaves either the old file or the new one, never a part of it; what it
    leaves of the temporary file goes with the next write, or with `sweep`.
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
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def study_folder() -> Path:
    """Where `data/`, `notebooks/` and `figures/` live.

    MOCOSE_STUDY if set; else the checkout this package is installed from; else the current folder.
    """
    checkout = Path(__file__).resolve().parents[1]
    default = checkout if (checkout / "notebooks").is_dir() else Path.cwd()
    return Path(os.environ.get("MOCOSE_STUDY", default))


STUDY = study_folder()
