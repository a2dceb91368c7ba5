"""The site: all notebooks in order, nothing from elsewhere, nothing harmful."""

import json
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from mocose_study.config import InputError
from mocose_study.results import site as made
from mocose_study.results.site import make_report

HARM = (
    "<script>alert('bad')</script>",
    "<img src=x onerror=alert('bad')>",
    "<a href=\"data:text/html,<script>alert('bad')</script>\">here</a>",
    "[here](javascript:alert('bad'))",
    '<iframe src="https://bad.example"></iframe>',
    "![picture](https://bad.example/a.png)",
    "![picture](/etc/hostname)",
    "<svg onload=alert('bad')></svg>",
    "<math><mtext><img src=x onerror=alert('bad')></mtext></math>",
    "$<img src=x onerror=alert('bad')>$",
    r"$$\text{<img src=x onerror=alert('bad')>}$$",
    "```python\n<img src=x onerror=alert('bad')>\n```",
    "# T <img src=x onerror=alert('bad')>",
)
OUTPUT = '{"output_type": "display_data", "metadata": {}'
DAMAGED = {
    "no JSON": "{",
    "a list": "[]",
    "nothing": "null",
    "deep": "[" * 100_000,
    "unknown": '{"nbformat": 99, "nbformat_minor": 0, "metadata": {}, "cells": []}',
    "no data": OUTPUT + "}",
    "bad base64": OUTPUT + ', "data": {"image/png": "a"}}',
}
WIDGET = "application/vnd.jupyter.widget-view+json"
CLAIM = {"claim": "0.85 beats <b>0.99</b>.", "verdict": "supported", "range": ""}
CLAIM |= {"effect": 1.75, "low": 0.5, "high": 3.0, "paper": 1.37, "section": "ema"}
CLAIM |= {"table": "Table 3", "reason": "nearest: b", "notebook": "04_ema"}


def code(source: str, *forms: dict):
    outputs = [new_output("display_data", data=form) for form in forms]
    return new_code_cell(source, outputs=outputs)


def write(folder: Path, stem: str, *cells) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells)), folder / f"{stem}.ipynb")


def write_notebooks(study: Path) -> None:
    """Two plain ones, and one full of harm, which an executed one of quick replaces."""
    text = "# Start\n\nSee `04_ema`, and $\\eta = 0.85$.\n\n$$\\frac{1}{1-\\eta}$$"
    start = (
        new_markdown_cell(text),
        code("parameters = 1"),
        code("answer()", {"text/markdown": "It *does*."}),
        code("link", {"text/html": '<a href="04_ema.ipynb#Results">there</a>'}),
        code("slider", {WIDGET: {"model_id": "0"}, "text/plain": "IntSlider(1)"}),
        code("script", {"application/javascript": "alert('bad')", "text/plain": "JS"}),
    )
    write(study / "notebooks", "00_start_here", *start)
    write(study / "notebooks", "04_ema", new_markdown_cell("# How fast?"))
    write(study / "notebooks", "04_ema copy (1)", new_markdown_cell("# A copy"))
    write(study / "notebooks", "99_claims", new_markdown_cell("# As committed"))
    forms = [{kind: text} for text in HARM for kind in ("text/html", "text/markdown")]
    top = new_markdown_cell("# Harm done `<i>` <img src=x onerror=alert('bad')>")
    cells = top, *map(new_markdown_cell, HARM), code("1", *forms)
    write(study / "data" / "executed" / "quick", "99_claims", *cells)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of a report on three notebooks and a section, built once."""
    study = tmp_path_factory.mktemp("study")
    write_notebooks(study)
    finding = "<!-- finding -->\nIt [held](notebooks/04_ema.ipynb).\n<!-- /finding -->"
    (study / "README.md").write_text(f"# No\n\n{finding}\n\n## Nor this")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOCOSE_STUDY", str(study))
        claims = pd.DataFrame([CLAIM, CLAIM | {"claim": "Another."}])
        patch.setattr(made, "judged", lambda _: claims)
        return make_report("quick").parent


def page(site: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{name}.html").read_text("utf-8"), "html.parser")


def test_nothing_is_loaded_from_elsewhere_and_no_harm_survives(site):
    for path in site.glob("*.html"):
        loads = page(site, path.stem).select("[src], link[href]")
        found = [tag.get("src") or tag["href"] for tag in loads]
        assert found == ["site.css"], path.name
    assert "url(" not in (site / "site.css").read_text("utf-8")
    harmed = page(site, "99_claims")
    assert harmed.h1.get_text().startswith("Harm done")  # the executed notebook
    assert not harmed.select("script, iframe, style, svg, object, img[src]")
    for tag in harmed.find_all(True):
        assert not [name for name in tag.attrs if name.startswith("on")], tag
        assert not {"javascript", "data"} & {tag.get("href", "").partition(":")[0]}
    assert len([*site.iterdir()]) == 5  # three notebooks, the front page, its look


def test_equations_are_mathml_and_notebooks_are_linked(site):
    start = page(site, "00_start_here")
    inline, block = start.select("math")
    assert inline.get_text("", strip=True) == "η=0.85"
    assert block["display"] == "block" and "$" not in start.main.get_text()
    assert len(start.select('main a[href="04_ema.html"]')) == 2
    first, second, _ = [a.get_text() for a in start.select("nav li a")]
    assert (first, second) == ("00 Start", "04 How fast?")


def test_code_is_folded_behind_its_results_and_controls_are_text(site):
    start = page(site, "00_start_here")
    second = start.select("main details")[1]
    assert "answer" in second.get_text()
    assert "It does." in second.find_previous_sibling(class_="output").get_text()
    shown = start.main.get_text()
    assert "model_id" not in shown and "alert" not in shown and "IntSlider" in shown
    assert "Executed at profile tiny" in shown  # not at quick, as another one is
    assert "Executed at profile" not in page(site, "99_claims").main.get_text()


def test_the_front_page_is_the_finding_and_a_row_a_section(site):
    front = page(site, "index").main
    assert front.h1.get_text() and front.p.get_text() == "It held."
    assert "Nor this" not in front.get_text()
    _, row = front.select("table tr")
    assert row.a["href"] == "04_ema.html" and row.a.get_text() == "04"
    told = [cell.get_text() for cell in row.select("td")][:-1]
    claim = "0.85 beats <b>0.99</b>. (Table 3)"
    assert told == [claim, "+1.8 [+0.5, +3.0]", "+1.4", "supported (nearest: b)"]


def test_bad_input_is_one_sentence(study):
    with pytest.raises(InputError, match="there is no profile 'tinny'"):
        make_report("tinny")
    with pytest.raises(InputError, match="has no notebooks; call it in a checkout"):
        make_report("tiny")


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_notebook_is_one_sentence_and_the_last_report_stays(study, content):
    if content.startswith(OUTPUT):
        whole = json.dumps(new_notebook(cells=[code("1")]))
        content = whole.replace('"outputs": []', f'"outputs": [{content}]')
    (study / "notebooks").mkdir()
    (study / "notebooks" / "00_a.ipynb").write_text(content)
    last = study / "report" / "tiny" / "index.html"
    last.parent.mkdir(parents=True)
    last.write_text("the last one")
    with pytest.raises(InputError, match=r"00_a\.ipynb is damaged .*; execute it"):
        make_report("tiny")
    assert last.read_text() == "the last one"


def test_a_picture_is_described_by_the_title_above_it():
    pixel = code("figure", {"image/png": "aGVsbG8="})
    html = made.body_of([new_markdown_cell("## Curves & more"), pixel])
    assert '<img alt="figure: Curves &amp; more" src="data:image/png' in html
