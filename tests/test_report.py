"""The report: self-contained pages in which every image, equation, link and table is in order."""

import base64
import json
import re
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from browser import BINARY, Browser
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from mocose_study.results import ledger
from DELETED import report
from mocose_study.claims.verdicts import Claim
from mocose_study.config import InputError
from mocose_study.sections.grid import Grid, Point
from DELETED.report import make_report, sections
from mocose_study.claims.rules import Better
from mocose_study.runs.run import run_file

ROOT = Path(__file__).resolve().parents[1]
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36.0pt"></svg>'
LIGHT, BACKGROUND = "rgb(255, 255, 255)", "getComputedStyle(document.body).backgroundColor"
WIDGET = "application/vnd.jupyter.widget-view+json"
DECAYS = [{"ema_decay": 0.5}, {"ema_decay": 0.85}, {"ema_decay": 0.9}]
GRID = Grid(
    question="?", points=tuple(Point(str(p["ema_decay"]), p) for p in DECAYS), notebook="01_first",
    claims=(Claim("a", "Table 3", "0.85 beats 0.5 <by far>.", Better(DECAYS[1], DECAYS[0])),
            Claim("b", "Table 4", "0.9 beats 0.5.", Better(DECAYS[2], DECAYS[0]))),
)  # fmt: skip


def png(width: int, height: int) -> str:
    Image.new("RGB", (width, height), "white").save(held := BytesIO(), "PNG")
    return base64.b64encode(held.getvalue()).decode()


def code(source: str, *forms: dict, **metadata):
    outputs = [new_output("display_data", data=form) for form in forms]
    return new_code_cell(source, outputs=outputs, metadata=metadata)


def write(folder: Path, stem: str, *cells) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    parameters = code('profile = "tiny"\nmode = "load"', tags=["parameters"])
    nbformat.write(new_notebook(cells=[*cells, parameters]), folder / f"{stem}.ipynb")


@pytest.fixture
def small(study, monkeypatch) -> Path:
    """A study of three notebooks, two of them executed at profile tiny, with a grid of its own."""
    wide = pd.DataFrame({f"a long heading {i}": [0.5, float("nan")] for i in range(20)})
    wide.index = pd.Index(["a point", "another"], name="label")
    write(
        study / "notebooks", "01_first",
        new_markdown_cell("# One: the `first`\n\n$\\eta = 0.85$, see `02_second`, `03_third`."),
        new_markdown_cell("## An equation\n\n$$\\mathcal L = \\log \\mathbb E\\, x^2 \\qquad "
                          + "+ \\frac{1}{1-\\eta}" * 30 + "$$"),
        new_markdown_cell("## Results\n\n[b](02_second.ipynb), [c](03_third.ipynb)"),
        code('plots.save(figure, t["x"], profile, "01_one");', {"image/png": png(800, 300)}),
        code("show(figure)", {"image/svg+xml": SVG}),
        code("wide", {"text/html": wide._repr_html_(), "text/plain": "wide"}),
        code("slider", {WIDGET: {"model_id": "0"}, "text/plain": "IntSlider(value=1)"}),
        code("bar", {WIDGET: {"model_id": "1"}, "text/plain": " 50%|#####     | 1/2"}),
        code("Javascript()", {"application/javascript": "throw 1", "text/plain": "<JS>"}),
        code("source()", {"text/markdown": "```python\ndef f(): " + "x" * 200 + "\n```"}),
    )  # fmt: skip
    told = code("1", {"text/plain": "1"})
    write(study / "notebooks", "02_second", new_markdown_cell("# Two"), told)
    write(study / "notebooks", "03_third", new_markdown_cell("# Three"), code("1"))
    (study / "data").mkdir()
    (study / "data" / "paper").symlink_to(ROOT / "data" / "paper")
    drawn = study / "figures" / "tiny"
    drawn.mkdir(parents=True)
    for name in ("01_one.svg", "99_claims.svg"):
        (drawn / name).write_text(SVG)
    (drawn / "01_one.csv").write_text("a\n1\n")
    monkeypatch.setattr(ledger, "GRIDS", {"ema": GRID})
    for config in GRID.configs("tiny", range(5)):
        if config.ema_decay < 0.9:
            write_run(config, score=60 + 3 * (config.ema_decay > 0.5) + config.seed / 10)
    return study


def write_run(config, score: float) -> None:
    path = run_file(config, "tiny")
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "id": path.stem, "config": asdict(config), "seconds": 1.0, "metrics": {"sts_avg": score},
        "progress": {"best_step": 1}, "stamp": {"finished": f"2026-01-0{config.seed + 1}"},
    }  # fmt: skip
    path.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def committed(tmp_path_factory) -> Path:
    """The folder of a report of the notebooks in this repository."""
    study = tmp_path_factory.mktemp("study")
    for name in ("notebooks", "figures"):
        (study / name).symlink_to(ROOT / name)
    (study / "data" / "runs" / "tiny").mkdir(parents=True)
    claim = {"verdict": "no runs", "text": "x " * 90, "notebook": "04_ema", "n": 0}
    claims = pd.DataFrame([claim], columns=[*ledger.COLUMNS, "notebook"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "STUDY", study)
        patch.setattr(report, "judged", lambda _: claims)
        return make_report("tiny").parent


@pytest.fixture(params=["small", "committed"])
def site(request) -> Path:
    """The folder of a report."""
    folder = request.getfixturevalue(request.param)
    return folder if request.param == "committed" else make_report("tiny").parent


def pages(site: Path) -> dict[str, BeautifulSoup]:
    return {p.name: BeautifulSoup(p.read_text("utf-8"), "html.parser") for p in site.glob("*.html")}


def test_every_image_has_a_text_and_a_size(site):
    images = [image for page in pages(site).values() for image in page.select("img")]
    assert images
    for image in images:
        assert image["alt"].strip() and int(image["width"]) > 0 and int(image["height"]) > 0


def test_nothing_is_loaded_from_elsewhere(site):
    for name, page in pages(site).items():
        loaded = {tag.get("src") or tag["href"] for tag in page.select("[src], link[href]")}
        assert {s for s in loaded if not s.startswith("data:")} == {"style.css", "theme.js"}
        assert not re.search(r"url\(|@import", str(page.select("style"))), name
    assert "http" not in (site / "style.css").read_text() + (site / "theme.js").read_text()


def test_every_link_leads_somewhere(site):
    found = pages(site)
    for name, page in found.items():
        for link in page.select('a[href]:not([href^="https:"])'):
            target, _, anchor = link["href"].partition("#")
            assert (site / target).exists(), f"{name}: {link['href']}"
            if anchor:
                assert found[target or name].find(id=anchor), f"{name}: {link['href']}"


@pytest.mark.skipif(BINARY is None, reason="no Chromium or Chrome is installed here")
def test_pages_in_a_browser(site):
    """No complaint in the console, no request, no sideways scrolling on a phone, both themes."""
    with Browser() as browser:
        for page in site.glob("*.html"):
            browser.open(page)
            loaded = "[...document.images].every(i => i.complete && i.naturalWidth > 0)"
            assert browser.value(loaded), page.name
            for width, dark in ((1280, False), (375, True)):
                browser.look(width, dark=dark)
                assert browser.value("document.documentElement.scrollWidth") <= width, page.name
                assert browser.value(BACKGROUND) == ("rgb(21, 23, 27)" if dark else LIGHT)
            browser.value("document.querySelector('#theme').click()")
            assert browser.value(BACKGROUND) == LIGHT  # chosen against the system's dark
            browser.value("localStorage.clear()")
            assert browser.complaints == [], page.name


def test_equations_are_mathml(small):
    page = pages(make_report("tiny").parent)["01_first.html"]
    inline, block = page.select("math")
    assert inline["display"] == "inline" and inline.get_text() == "η=0.85"
    assert block["display"] == "block" and block.get_text().startswith("ℒ=log𝔼")
    assert "$" not in page.main.get_text() and "\\" not in page.main.get_text()


def test_a_figure_is_described_by_its_heading_and_name_and_links_its_files(small):
    first, second = pages(make_report("tiny").parent)["01_first.html"].select("figure")
    assert first.img["alt"] == "Results: figure 01_one" and second.img["alt"] == "Results"
    assert (first.img["width"], first.img["height"]) == ("800", "300")
    assert (second.img["width"], second.img["height"]) == ("96", "48")  # 72 pt = 1 inch = 96 px
    links = [a["href"] for a in first.select("figcaption a")]
    assert links == ["figures/01_one.svg", "figures/01_one.csv"]


def test_code_is_folded_and_what_cannot_run_on_a_page_is_replaced(small):
    page = pages(make_report("tiny").parent)["01_first.html"]
    folded = page.select("details.code:not([open])")
    assert "plots.save" in folded[0].get_text()
    shown = page.main.get_text()
    assert shown.count("Controls stand here") == 1
    assert "IntSlider" not in shown and "50%" not in shown and "throw 1" not in shown
    assert not page.main.select("script, style")


def test_a_table_has_one_header_row_and_a_box_of_its_own(small):
    table = pages(make_report("tiny").parent)["01_first.html"].table
    assert table.parent["class"] == ["scroll"]
    assert len(table.select("thead tr")) == 1 and table.th.get_text() == "label"
    assert [cell.get_text() for cell in table.select("td")[::20]] == ["0.5", "–"]


def test_every_section_is_listed_and_one_that_was_not_run_says_so(small):
    found = pages(make_report("tiny").parent)
    assert set(found) == {"index.html", "01_first.html", "02_second.html"}
    cards = [card.get_text(" ", strip=True) for card in found["index.html"].select(".cards li")]
    assert cards == ["01 One the first", "02 Two", "03 Three not run"]
    for name in ("01_first.html", "02_second.html"):
        assert "Three not run" in found[name].nav.get_text()
        assert "10 runs" in found[name].footer.get_text()
        assert found[name].time["datetime"] == "2026-01-05"
    first = found["01_first.html"]
    assert [a["href"] for a in first.select(".neighbours a")] == ["02_second.html"]
    assert first.main.find("code", string="03_third").a is None
    assert first.main.find("code", string="02_second").a["href"] == "02_second.html"


def test_the_overview_has_every_claim_with_its_verdict_and_the_figure(small):
    page = pages(make_report("tiny").parent)["index.html"]
    assert [span.get_text() for span in page.select(".tally span")] == ["1 supported", "1 no runs"]
    rows = [[cell.get_text() for cell in row.select("td")] for row in page.select("tbody tr")]
    assert rows[0][:6] == ["supported", "0.85 beats 0.5 <by far>.", "3.00", "3.00", "3.00", "5"]
    assert rows[1][:6] == ["no runs", "0.9 beats 0.5.", "–", "–", "–", "0"]
    assert page.select_one("tbody a")["href"] == "01_first.html"
    assert page.img["width"] == "96"


def test_executed_notebooks_stand_before_the_committed_ones(small):
    write(small / "data" / "executed" / "tiny", "03_third", new_markdown_cell("# Three"), code("1"))
    assert [bool(section.notebook) for section in sections("tiny")] == [False, False, True]


def test_without_executed_notebooks_one_sentence_says_how_to_make_them(small):
    with pytest.raises(InputError, match=r"'quick' to render; .* `make study PROFILE=quick`"):
        make_report("quick")
    with pytest.raises(InputError, match="there is no profile 'tinny'"):
        make_report("tinny")


def test_a_page_that_fails_is_named_and_the_last_report_stays(small):
    before = make_report("tiny").read_text()
    told = code("1", {"text/plain": "1"})
    write(small / "notebooks", "02_second", new_markdown_cell("# Two\n\n$x^{$"), told)
    with pytest.raises(InputError, match="notebook 02_second: the equation 'x"):
        make_report("tiny")
    assert (small / "report" / "tiny" / "index.html").read_text() == before
    (small / "notebooks" / "02_second.ipynb").write_text("{")
    with pytest.raises(InputError, match=r"02_second\.ipynb is damaged"):
        make_report("tiny")
