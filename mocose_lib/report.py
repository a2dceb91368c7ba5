"""The study as a static site: a page for every executed notebook, and the ledger on an overview."""

import base64
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pandas as pd
from nbformat import NotebookNode

from .claims import DECIDED
from .config import StudyError, choose
from .files import STUDY
from .ledger import judged
from .pages import TEMPLATES, PageExporter, finish, saved_stem
from .profiles import PROFILES, configure
from .results import read_run

LEDGER = "99_claims"  # the stem of the figure of all effects


@dataclass(frozen=True)
class Section:
    """A notebook of the study; `notebook` is None where it was not run at the profile."""

    stem: str  # "04_ema"
    title: str  # "EMA decay: how fast should the target branch follow?"
    notebook: NotebookNode | None

    @property
    def number(self) -> str:
        return self.stem.partition("_")[0]

    @property
    def short(self) -> str:
        return self.title.partition(":")[0]

    @property
    def rest(self) -> str:
        return self.title.partition(":")[2].strip()

    @property
    def link(self) -> str:
        return f"{self.stem}.html" if self.notebook else ""


def sections(profile: str) -> list[Section]:
    """Every notebook of the study, in order, with what was executed at the profile.

    That is what lies in data/executed/<profile>; where nothing does, the notebooks as committed,
    if their parameters name the profile.
    """
    paths = sorted((STUDY / "notebooks").glob("[0-9]*.ipynb"))
    folder = STUDY / "data" / "executed" / profile
    executed = {path.stem for path in paths if (folder / path.name).exists()}
    found = []
    for path in paths:
        notebook = _read(folder / path.name if path.stem in executed else path)
        done = path.stem in executed if executed else _shows(notebook, profile)
        title = re.match(r"# (.+)", notebook.cells[0].source) if notebook.cells else None
        title = re.sub(r"[`$*]", "", title[1]) if title else path.stem
        found.append(Section(path.stem, title, notebook if done else None))
    return found


def _read(path: Path) -> NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except Exception as cause:  # JSON's errors and nbformat's own
        raise StudyError(f"notebook {path} is damaged ({cause}); execute it again.") from None


def _shows(notebook: NotebookNode, profile: str) -> bool:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    named = any(
        re.search(rf'^profile = "{profile}"', cell.source, re.M)
        for cell in cells if "parameters" in cell.metadata.get("tags", ())
    )  # fmt: skip
    return named and any(cell.outputs for cell in cells)


def make_report(profile: str) -> Path:
    """Writes report/<profile>/ anew; the path of its index.html.

    Raises StudyError when no notebook was executed at the profile, and, naming the notebook, for
    one that cannot be rendered. What stood there before stays until all pages are rendered.
    """
    choose(PROFILES, profile, "profile")
    there = sections(profile)
    done = [section for section in there if section.notebook]
    if not done:
        raise StudyError(
            f"there is no executed notebook of profile {profile!r} to render; "
            f"make them with `make study PROFILE={profile}`."
        )
    folder, drawn = STUDY / "report" / profile, STUDY / "figures" / profile
    figures = [name for name in _figures(done) if (drawn / name).exists()]
    pages = render(profile, there, figures, _about(profile, folder, there))
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "figures").mkdir(parents=True)
    for name in figures:
        shutil.copy(drawn / name, folder / "figures")
    for asset in ("style.css", "theme.js"):
        shutil.copy(TEMPLATES / "report" / asset, folder)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "index.html"


def render(profile: str, there: list[Section], figures: list[str], about: dict) -> dict[str, str]:
    """{file name: HTML} of the overview and of every section that was run."""
    exporter, done = PageExporter(), [section for section in there if section.notebook]
    stems = [section.stem for section in done]
    home = exporter.home(about, **_ledger(profile))
    pages = {"index.html": finish(home, stems, figures)}
    for before, section, after in zip([None, *done], done, [*done[1:], None], strict=False):
        page = about | {
            "title": f"{section.short} · MoCoSE study, {profile}", "current": section.stem,
            "previous": before, "next": after,
        }  # fmt: skip
        try:
            pages[section.link] = finish(exporter.page(section.notebook, page), stems, figures)
        except StudyError as wrong:
            raise StudyError(f"notebook {section.stem}: {wrong}") from None
    return pages


def _figures(done: list[Section]) -> list[str]:
    """Names of the files that these notebooks save in figures/<profile>."""
    codes = [cell.source for section in done for cell in section.notebook.cells]
    stems = dict.fromkeys([*filter(None, map(saved_stem, codes)), LEDGER])
    return [stem + ending for stem in stems for ending in (".svg", ".csv")]


def _about(profile: str, folder: Path, there: list[Section]) -> dict:
    """What the frame of every page shows."""
    runs = STUDY / "data" / "runs" / profile
    finished = [read_run(path).get("stamp", {}).get("finished", "") for path in runs.glob("*.json")]
    return {
        "title": f"MoCoSE study, {profile}", "profile": profile, "sections": there,
        "runs": len(finished), "newest": max(finished, default=""),
        "runs_link": Path(os.path.relpath(runs, folder)).as_posix() + "/",
        "generated": configure(profile).benchmark != "real",
    }  # fmt: skip


def _ledger(profile: str) -> dict[str, object]:
    """For the overview: how many claims have which verdict, all of them as a table, the figure."""
    claims = judged(profile).sort_values("notebook", kind="stable")
    counts = claims["verdict"].value_counts()
    shown = pd.DataFrame({
        "verdict": claims["verdict"], "claim": claims["text"], "effect": claims["effect"],
        "from": claims["low"], "to": claims["high"], "seeds": claims["n"],
        "measure": claims["metric"], "source": claims["source"], "section": claims["notebook"],
    })  # fmt: skip
    picture = STUDY / "figures" / profile / f"{LEDGER}.svg"
    content = base64.b64encode(picture.read_bytes()).decode() if picture.exists() else ""
    return {
        "tally": {v: counts[v] for v in (*DECIDED, "inconclusive", "no runs") if v in counts},
        "table": shown.to_html(index=False, na_rep="–", float_format="{:.2f}".format),
        "figure": content and f"data:image/svg+xml;base64,{content}", "ledger": LEDGER,
    }  # fmt: skip
