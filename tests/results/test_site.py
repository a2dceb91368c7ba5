"""The site: every notebook in order, nothing loaded from elsewhere, nothing harmful let through."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from made_up import GRID, write_all
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from mocose_study.config import InputError
from mocose_study.results import site as made
from mocose_study.results.site import make_report

HARM = (
    "<script>alert('bad')</script>",
    "<img src=x onerror=alert('bad')>",
    "<a href=\"javascript:alert('bad')\">here</a>",
    "[here](javascript:alert('bad'))",
    '<iframe src="https://bad.example"></iframe>',
    "![picture](https://bad.example/a.png)",
    "<style>@import url(https://bad.example/a.css)</style>",
    "<svg onload=alert('bad')></svg>",
    "```{raw} html\n<script>alert('bad')</script>\n```",
    "# T <img src=x onerror=alert('bad')>",
    "# `<img src=x onerror=alert('bad')>`",
)
LEAKS = (  # ways to a file of this machine
    "```{csv-table}\n:file: FILE\n```",
    "```{eval-rst}\n.. csv-table::\n   :file: FILE\n```",
    "```{eval-rst}\n.. include:: FILE\n```",
    "```{include} FILE\n```",
    "```{literalinclude} FILE\n```",
    "```{figure} FILE\n```",
    "```{image} FILE\n```",
    "{download}`FILE`",
    "![picture](FILE)",
    "![picture](../../../FILE)",
    "[here](FILE)",
    "<img src='FILE'>",
    "- > ```{include} FILE\n  > ```",
)
DAMAGED = {
    "no JSON": "{",
    "a list": "[]",
    "nothing": "null",
    "deep": "[" * 100_000,
    "unknown": '{"nbformat": 99, "nbformat_minor": 0, "metadata": {}, "cells": []}',
    "no data": '{"output_type": "display_data", "metadata": {}}',
    "bad base64": '{"output_type": "display_data", "metadata": {}, "data": {"image/png": "a"}}',
}
WIDGET = "application/vnd.jupyter.widget-view+json"


def code(source: str, *forms: dict, **metadata):
    outputs = [new_output("display_data", data=form) for form in forms]
    return new_code_cell(source, outputs=outputs, metadata=metadata)


def write(folder: Path, stem: str, *cells, **metadata) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    parameters = code('profile = "tiny"\nmode = "load"', tags=["parameters"])
    made = new_notebook(cells=[*cells, parameters], metadata=metadata)
    nbformat.write(made, folder / f"{stem}.ipynb")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of a report on three notebooks and a grid of three points, built once."""
    study = tmp_path_factory.mktemp("study")
    wide = pd.DataFrame({f"heading {i}": [0.5] for i in range(20)})
    secret = study / "secret.png"
    secret.write_text("SECRET")
    texts = [*HARM, *(text.replace("FILE", str(secret)) for text in LEAKS)]
    harm = [{kind: text} for text in texts for kind in ("text/html", "text/markdown")]
    write(
        study / "notebooks",
        "00_start_here",
        new_markdown_cell("# Start\n\nSee `04_ema`, and $\\eta = 0.85$."),
        new_markdown_cell(
            "## An equation\n\n$$\\mathcal L = a + b + c + \\frac{1}{1-\\eta}$$"
        ),
        code("wide_table", {"text/html": wide._repr_html_(), "text/plain": "wide"}),
        code("linked", {"text/html": '<a href="04_ema.ipynb">the notebook</a>'}),
        code(
            "to",
            {
                "text/html": '<a href="04_ema.ipynb#Verdict:-predictor_dim">its verdict</a>'
            },
        ),
        code("slider", {WIDGET: {"model_id": "0"}, "text/plain": "IntSlider(value=1)"}),
        code(
            "script", {"application/javascript": "alert('bad')", "text/plain": "<JS>"}
        ),
    )
    ema = new_markdown_cell("# As committed\n\n## Verdict: predictor_dim")
    write(study / "notebooks", "04_ema", ema)
    write(study / "notebooks", "99_claims", new_markdown_cell("# Harm"))
    cells = [new_markdown_cell(text) for text in texts]
    cells.append(code(f"open({str(study / 'ran')!r}, 'w')"))
    executed = study / "data" / "executed" / "tiny"
    metadata = {
        "mystnb": {"execution_mode": "force"},
        "myst": {"commonmark_only": False},
    }
    top = new_markdown_cell("# Harm done `<i>` <img src=x onerror=alert('bad')>")
    write(executed, "99_claims", top, *cells, code("1", *harm), **metadata)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOCOSE_STUDY", str(study))
        patch.setattr(made, "GRIDS", {"start": GRID, "again": GRID})
        write_all("tiny", 5)
        return make_report("tiny").parent


def page(site: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{name}.html").read_text("utf-8"), "html.parser")


@pytest.fixture
def start(site) -> BeautifulSoup:
    return page(site, "00_start_here")


def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.glob("*.html"):
        loads = BeautifulSoup(path.read_text("utf-8"), "html.parser").select(
            "[src], link[href]"
        )
        found = [tag.get("src") or tag["href"] for tag in loads]
        assert found and not [url for url in found if "//" in url], path.name
    for path in site.rglob("*.css"):
        assert not re.search(
            r"(@import\s+|url\()['\"]?(https?:)?//", path.read_text("utf-8")
        ), path


def test_no_harm_survives(site):
    harmed = page(site, "99_claims")
    assert (
        "Harm done" in harmed.h1.get_text()
    )  # the executed notebook, not the committed one
    body = harmed.select_one("article")
    assert not body.select("script, iframe, style, svg, object")
    for tag in body.find_all(True):
        assert not [name for name in tag.attrs if name.startswith("on")], tag
        assert "javascript:" not in str(tag.get("href", "")) + str(
            tag.get("src", "")
        ), tag
    assert not body.select("img")
    for path in site.glob("*.html"):  # headings stand in every sidebar
        assert not page(site, path.stem).select("[onerror], nav img"), path
    assert not (site.parents[1] / "ran").exists()  # no metadata has cells executed
    assert not [path for path in site.rglob("*.*") if b"SECRET" in path.read_bytes()]


def test_equations_are_mathml(start):
    inline, block = start.select("math")
    assert inline.get_text("", strip=True) == "η=0.85"
    assert (
        block["display"] == "block"
        and "$" not in start.select_one("article").get_text()
    )


def test_a_browser_draws_an_equation_in_one_line(site, tmp_path):
    """A block that is no longer `math` puts every symbol on a line of its own."""
    if (browser := shutil.which("chromium") or shutil.which("google-chrome")) is None:
        pytest.skip("there is no Chromium here")
    measure = """<script>document.title = ['math[display="block"]', "article p"].map(
      found => document.querySelector(found).getBoundingClientRect().height)</script></body>"""
    html = (site / "00_start_here.html").read_text("utf-8").replace("</body>", measure)
    (site / "measured.html").write_text(html, "utf-8")
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}",
    )
    command = [browser, *options, "--dump-dom", (site / "measured.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    (site / "measured.html").unlink()
    equation, line = map(
        float, BeautifulSoup(shown, "html.parser").title.text.split(",")
    )
    assert 0 < equation < 3 * line


def test_notebooks_are_linked_in_text_in_tables_and_in_the_navigation(site, start):
    links = [a["href"] for a in start.select('article a[href="04_ema.html"]')]
    assert len(links) >= 2
    (to,) = start.select('article a[href^="04_ema.html#"]')
    assert page(site, "04_ema").find(id=to["href"].partition("#")[2])
    assert [a["href"] for a in start.select("nav .toctree-l1 a")][-2:] == [
        "04_ema.html",
        "99_claims.html",
    ]


def test_code_is_folded_and_controls_are_replaced_by_their_text(start):
    assert len(start.select("article details")) >= 4
    text = start.select_one("article").get_text()
    assert "model_id" not in text and "alert" not in text and "wide_table" in text


def test_the_front_page_is_computed_from_the_runs(site):
    text = page(site, "index").select_one("article").get_text(" ", strip=True)
    assert "rests on 15 runs, which took" in text and "judges 4 claims" in text
    assert "the 3 points lie between 50 (0.7) and 63.8 (0.85)" in text
    assert re.search(r"How fast\? .*1 supported ?, 1 not supported", text)
    assert "MoCoSE Table 3" in text  # the ledger's row


def test_without_runs_the_front_page_says_so(study, monkeypatch):
    monkeypatch.setattr(made, "GRIDS", {"start": GRID})
    text = made.article("tiny", ["00_start_here"], study / "no.svg")
    assert "no runs at this profile yet" in text and "No claim is judged" in text


def test_bad_input_is_one_sentence(study):
    with pytest.raises(InputError, match="there is no profile 'tinny'"):
        make_report("tinny")
    with pytest.raises(InputError, match="there are no notebooks"):
        make_report("tiny")


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_notebook_is_one_sentence_and_the_last_report_stays(study, content):
    if "output_type" in content:
        whole = json.dumps(new_notebook(cells=[code("1")]))
        content = whole.replace('"outputs": []', f'"outputs": [{content}]')
    (study / "notebooks").mkdir()
    (study / "notebooks" / "00_a.ipynb").write_text(content)
    (study / "report" / "tiny").mkdir(parents=True)
    (study / "report" / "tiny" / "index.html").write_text("the last one")
    with pytest.raises(
        InputError, match=r"00_a\.ipynb is damaged .*; execute it again\.$"
    ):
        make_report("tiny")
    assert (study / "report" / "tiny" / "index.html").read_text() == "the last one"
