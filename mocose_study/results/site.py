"""The executed notebooks of a profile as a site that opens from a folder, without a network.

Sphinx and MyST-NB build it, with the extension `harmless`.
"""

import re
import shutil
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from sphinx.application import Sphinx

from mocose_lib import InputError
from mocose_study.config import PROFILES, choose, read_toml
from mocose_study.data.files import study_folder

from .article import article

STATIC = Path(__file__).parent / "static"
WIDGETS = ("*", "application/vnd.jupyter.widget-view+json", None)  # are shown as their text


def make_report(profile: str) -> Path:
    """Builds report/<profile> and returns its index.html.

    Raises InputError for an unknown profile, without notebooks, and for one that is damaged.
    """
    choose(PROFILES, profile, "profile")
    pages = notebooks(profile)
    target = study_folder() / "report" / profile
    with TemporaryDirectory() as folder:
        source, made = Path(folder, "source"), Path(folder, "html")
        source.mkdir()
        for page in pages.values():
            write_page(page, source, pages, profile)
        figure = study_folder() / "figures" / profile / "00_start_here.svg"
        if figure.exists():
            shutil.copy(figure, source)
        (source / "index.md").write_text(article(profile, list(pages), figure), encoding="utf-8")
        silent = {"status": None, "warning": StringIO()}
        told = read_toml(__package__, "site") | {"html_static_path": [str(STATIC)]}
        told |= {"nb_mime_priority_overrides": [WIDGETS]}
        Sphinx(source, None, made, Path(folder, "trees"), "html", told, **silent).build()
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)
    return target / "index.html"


def notebooks(profile: str) -> dict[str, Path]:
    """By name: the notebooks executed at this profile, else as they are committed."""
    committed, executed = study_folder() / "notebooks", study_folder() / "data/executed" / profile
    found = {p.stem: p for place in (committed, executed) for p in place.glob("[0-9]*.ipynb")}
    if not found:
        raise InputError(
            f"there are no notebooks in {committed}; run `mocose report` in a checkout."
        )
    return dict(sorted(found.items()))


def write_page(path: Path, folder: Path, pages: dict, profile: str) -> None:
    """A copy of a notebook with its code folded and the names of other notebooks as links."""
    try:
        notebook = nbformat.read(path, as_version=4)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as cause:
        raise InputError(f"notebook {path} is damaged ({cause}); execute it again.") from None
    links = re.compile(rf"(?<!\[)`({'|'.join(pages)})`(?!\])")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = links.sub(r"[`\1`](\1.ipynb)", cell.source)
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
    if profile not in path.parts and f'profile = "{profile}"' not in str(notebook.cells):
        note = f"> Not executed at profile {profile} yet. This is the committed version."
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(note))
    nbformat.write(notebook, folder / path.name)
