"""The executed notebooks of a profile as a site that opens from a folder, without a network.

Sphinx and MyST-NB build it, with the extension `harmless`. Its front page says what was asked, how,
and what came out, from run files alone.
"""

import base64
import re
import shutil
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pandas as pd
from nbformat import NotebookNode, v4
from sphinx.application import Sphinx

from mocose_lib import InputError
from mocose_study.config import PROFILES, choose, configure, read_toml
from mocose_study.data.files import study_folder
from mocose_study.sections import GRIDS

from .conclude import paragraph, verdicts_on
from .ledger import place_of, summary
from .show import scores_markdown
from .tables import filled, markdown, table_of

STATIC = Path(__file__).parent / "static"
KINDS = ("text/html", "text/markdown", "image/png", "text/plain")  # of results
MATH = re.compile(
    r"(`+[^`].*?`+)|\$\$(.+?)\$\$|\$(?! )([^$\n]+)(?<! )\$", re.S
)  # beside code, which stays


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
        (source / "index.md").write_text(
            article(profile, list(pages), figure), encoding="utf-8"
        )
        silent = {"status": None, "warning": StringIO()}
        told = read_toml(__package__, "site") | {"html_static_path": [str(STATIC)]}
        Sphinx(
            source, None, made, Path(folder, "trees"), "html", told, **silent
        ).build()
        replace(target, made)
    return target / "index.html"


def replace(target: Path, made: Path) -> None:
    """Copies a folder to `target`, which is the old one, whole, until the new one is there."""
    new, old = (target.with_name(f".{target.name}.{age}") for age in ("new", "old"))
    for rest in (new, old):
        shutil.rmtree(rest, ignore_errors=True)
    shutil.copytree(made, new)
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def notebooks(profile: str) -> dict[str, Path]:
    """By name: the notebooks executed at this profile, else as they are committed."""
    committed, executed = (
        study_folder() / "notebooks",
        study_folder() / "data/executed" / profile,
    )
    found = {
        p.stem: p for place in (committed, executed) for p in place.glob("[0-9]*.ipynb")
    }
    if not found:
        raise InputError(
            f"there are no notebooks in {committed}; a report needs a checkout."
        )
    return dict(sorted(found.items()))


def write_page(path: Path, folder: Path, pages: dict, profile: str) -> None:
    """What the site shows of a notebook, as a new one: text, folded code, and results of KINDS.

    Nothing else of the notebook goes in, its metadata neither. Names of notebooks become links.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        cells = [shown(cell, pages) for cell in notebook.cells]
    except Exception as cause:  # whatever a file may hold, and nbformat meet in it
        why = f"{type(cause).__name__}: {cause}".partition("\n")[0]
        raise InputError(
            f"notebook {path} is damaged ({why}); execute it again."
        ) from None
    if profile not in path.parts and f'profile = "{profile}"' not in str(
        notebook.cells
    ):
        note = (
            f"> Not executed at profile {profile} yet. This is the committed version."
        )
        cells.insert(1, v4.new_markdown_cell(note))
    python = {"language_info": {"name": "python"}}
    nbformat.write(v4.new_notebook(cells=cells, metadata=python), folder / path.name)


def shown(cell: NotebookNode, pages: dict) -> NotebookNode:
    """A new cell from an old one. Raises ValueError where a picture is no base64."""
    if cell.cell_type != "code":
        links = re.compile(rf"(?<!\[)`({'|'.join(pages)})`(?!\])")
        text = links.sub(r"[`\1`](\1.ipynb)", MATH.sub(as_code, cell.source))
        return v4.new_markdown_cell(text if cell.cell_type == "markdown" else "")
    outputs = []
    for output in cell.outputs:
        if "data" in output:
            data = {kind: output.data[kind] for kind in KINDS if kind in output.data}
            base64.b64decode(data.get("image/png", ""), validate=False)
            outputs.append(v4.new_output("display_data", data=data))
        else:
            text = output.get("text") or "\n".join(output["traceback"])
            outputs.append(v4.new_output("stream", text=text))
    return v4.new_code_cell(
        cell.source, outputs=outputs, metadata={"tags": ["hide-input"]}
    )


def as_code(found: re.Match) -> str:
    """An equation as CommonMark knows it: code, which `harmless` shows as an equation."""
    code, block, line = found.groups()
    return code or (f"\n```math\n{block.strip()}\n```\n" if block else f"`${line}$`")


def article(profile: str, pages: list[str], figure: Path) -> str:
    """The page as MyST Markdown; `pages` are the notebooks it links, in their order."""

    def linked(page: str, text: str) -> str:
        return f"[{text}]({page}.ipynb)" if page in pages else text

    runs = {name: table_of(grid, profile) for name, grid in GRIDS.items()}
    there = {name: table for name, table in runs.items() if len(table)}
    lines, found = [], []
    for name, table in there.items():
        grid, page = GRIDS[name], GRIDS[name].notebook
        found.append(verdicts_on(grid, table))
        lines.append(
            f"- {paragraph(grid, table, found[-1], profile, False)} {linked(page, page)}"
        )
    if waiting := len(GRIDS) - len(there):
        lines.append(
            f"- {waiting} of {len(GRIDS)} sections have no runs at this profile yet."
        )
    start = next(iter(GRIDS))
    scores = (
        "\n\n" + scores_markdown(GRIDS[start], profile)
        if start in there
        else " no runs yet."
    )
    picture = f"![The systems' scores: seeds, mean and interval]({figure.name})"
    return filled(
        "front_page.md",
        claims=sum(len(grid.claims) for grid in GRIDS.values()),
        profile=profile,
        config=configure(profile),
        made=made(pd.concat(runs.values())),
        systems=linked("00_start_here", "The systems"),
        scores=scores,
        figure=picture if figure.exists() else "",
        sections="\n".join(lines),
        every_claim=linked("99_claims", "Every claim"),
        ledger=counted([table for table in found if not isinstance(table, str)]),
        pages="\n".join(pages),
    )


def made(runs: pd.DataFrame) -> str:
    """How many runs there are, and what they took."""
    if runs.empty:
        return "There are no runs at this profile yet."
    runs = runs.drop_duplicates("id")
    return (
        f"The page rests on {len(runs):,} runs, which took {runs['seconds'].sum() / 3600:.1f} hours "
        "in all."
    )


def counted(tables: list[pd.DataFrame]) -> str:
    """A row a table of the papers: how many of its claims got which verdict."""
    if not tables:
        return " No claim is judged at this profile yet."
    every = pd.concat(tables, ignore_index=True)
    rows = summary(every.assign(place=every["source"].map(place_of)))
    rows = rows.loc[:, rows.any()].astype(object).where(rows > 0, "")
    rows = rows.rename(columns=lambda word: f"[{word}]{{.{word.replace(' ', '-')}}}")
    return "\n\n" + markdown(rows.rename_axis("claims of").reset_index())
