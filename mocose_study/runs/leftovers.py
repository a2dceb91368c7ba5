"""What killed processes leave behind, and its removal at the next start."""

from pathlib import Path

import psutil

from mocose_study.data.atomic import sweep
from mocose_study.data.files import cache_folder, study_folder


def sweep_leftovers() -> None:
    """Removes unfinished writes below data/, and the cache's temporary files nobody has open."""
    for part in (study_folder() / "data").rglob(".*.*"):
        sweep(part.with_name(part.stem[1:]))
    temporary = [path for path in cache_folder().glob("tmp*") if path.is_file()]
    if temporary:
        in_use = {file for process in psutil.process_iter() for file in _open_files(process)}
        for path in temporary:
            if path.resolve() not in in_use:
                path.unlink(missing_ok=True)


def _open_files(process: psutil.Process) -> set[Path]:
    try:
        return {Path(file.path) for file in process.open_files()}
    except psutil.Error:  # gone by now, or another user's
        return set()
