"""In JupyterLab, in a browser, every control of `move_queue` draws its picture anew."""

import json
import shutil
import socket
import subprocess
import sys
import time

import pytest
from texts import ROOT

CELL = "from mocose_study.results import widgets\nwidgets.move_queue('quick')"
CHOICES = {"decay": "0.5", "queue": "1024", "batch": "256"}
PICTURE = ".jp-OutputArea img"
TEXT = ".jp-OutputArea .jp-RenderedText >> nth=-1"
CHANGED = """before => {
    const texts = [...document.querySelectorAll('.jp-OutputArea .jp-RenderedText')];
    return texts.length && texts.at(-1).innerText !== before;
}"""
WAIT = 60_000  # milliseconds, for a kernel that starts on a busy machine

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab whose only notebook holds the controls."""
    folder, port = tmp_path_factory.mktemp("lab"), free_port()
    cell = {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": None}
    book = {
        "cells": [cell | {"source": CELL, "outputs": []}],
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book["metadata"] = {"kernelspec": kernel}
    (folder / "controls.ipynb").write_text(json.dumps(book))
    options = (
        "--no-browser",
        "--allow-root",
        "--IdentityProvider.token=",
        f"--port={port}",
    )
    command = [sys.executable, "-m", "jupyterlab", *options, f"--notebook-dir={folder}"]
    server = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/lab/tree/controls.ipynb"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def page():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as engine:
        found = engine.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield found.new_page()
        found.close()


def opened(page, address: str) -> None:
    """Waits for the server, which is not up at once."""
    for _ in range(60):
        try:
            page.goto(address, timeout=WAIT)
            return
        except Exception:
            time.sleep(1)
    pytest.fail("JupyterLab did not start")


def test_every_control_draws_its_picture(lab, page):
    opened(page, lab)
    page.wait_for_selector(".jp-Cell .cm-content", timeout=WAIT)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=WAIT)
    page.click(".jp-Cell .cm-content")
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(PICTURE, timeout=WAIT)
    told = [page.inner_text(TEXT)]
    for name, choice in CHOICES.items():
        row = page.locator(".widget-dropdown", has_text=name)
        row.locator("select").select_option(label=choice)
        page.wait_for_function(CHANGED, arg=told[-1], timeout=WAIT)
        told.append(page.inner_text(TEXT))
        picture = page.locator(PICTURE)
        picture.wait_for(timeout=WAIT)
        size = picture.bounding_box()
        assert size["width"] > 200 and size["height"] > 100
        blank = len(picture.get_attribute("src")) < 5_000
        assert not blank, f"the picture is blank after a change of {name}"
    assert len(set(told)) == 1 + len(CHOICES)
