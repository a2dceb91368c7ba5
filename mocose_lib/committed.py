"""The committed notebooks: executed as they stand, on the committed runs, outputs kept in place."""

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError
from tqdm.auto import tqdm

from .config import StudyError
from .files import STUDY, write_atomically


def notebooks(names: tuple[str, ...] = ()) -> list[Path]:
    """Those whose names begin with one of `names`, or all. Raises StudyError where none does."""
    every = sorted((STUDY / "notebooks").glob("[0-9]*.ipynb"))
    for name in names:
        if not any(path.name.startswith(name) for path in every):
            raise StudyError(f"there is no notebook {name!r} in {STUDY / 'notebooks'}.")
    return [path for path in every if path.name.startswith(names or "")]


def refresh(path: Path) -> None:
    """Puts the outputs of a new execution into a notebook, without what differs by machine.

    Raises StudyError, naming the error, when a cell fails; the notebook then stays as it was.
    """
    with TemporaryDirectory() as folder:
        executed = Path(folder) / path.name
        try:
            papermill.execute_notebook(
                path, executed, kernel_name="python3", cwd=STUDY, progress_bar=False)  # fmt: skip
        except PapermillExecutionError as cause:
            raise StudyError(f"{path.name} failed: {cause.ename}: {cause.evalue}") from cause
        notebook, ran = nbformat.read(path, 4), nbformat.read(executed, 4)
    for number, (cell, done) in enumerate(zip(_code(notebook), _code(ran), strict=True), 1):
        cell.outputs = [_kept(o, number) for o in done.outputs if o.get("name") != "stderr"]
        cell.execution_count = number
    write_atomically(path, lambda part: nbformat.write(notebook, part))


def _code(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _kept(output, number: int):
    if "metadata" in output:
        output.metadata = {}
    if output.output_type == "execute_result":
        output.execution_count = number
    return output


def refresh_all(names: tuple[str, ...] = ()) -> None:
    for path in (shown := tqdm(notebooks(names), desc="notebooks")):
        shown.set_postfix_str(path.stem)
        refresh(path)
