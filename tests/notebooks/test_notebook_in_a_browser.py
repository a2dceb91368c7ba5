"""In JupyterLab, in a browser: other numbers in the first cell, a new figure."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from texts import ROOT

PARAMETERS = """profile = "smoke"
seeds = None
decays = [0.6, 0.7]
changes = {"steps": 2, "eval_every": 1}
run_missing = True
mine = {"ema_decay": 0.65, "steps": 20}"""
PICTURE = ".jp-OutputArea img"
WAIT = 120_000  # milliseconds, for a kernel that starts on a busy machine

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(smoke_study):
    """The address of a JupyterLab with a copy of `04_ema`."""
    (folder := smoke_study / "lab").mkdir()
    shutil.copy(ROOT / "notebooks" / "04_ema.ipynb", folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--IdentityProvider.token=", f"--port={port}"]
    where = {"cwd": ROOT, "env": {**os.environ, "MOCOSE_STUDY": str(smoke_study)}}
    server = subprocess.Popen([*command, f"--notebook-dir={folder}"], **where)
    try:
        yield f"http://127.0.0.1:{port}/lab/tree/04_ema.ipynb"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def page():
    playwright = pytest.importorskip("playwright.sync_api")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as engine:
        opened = engine.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield opened.new_page(viewport={"width": 1400, "height": 20_000})
        opened.close()


def test_other_numbers_give_another_figure(lab, page, smoke_study):
    for _ in range(60):  # the server is not up at once
        with suppress(Exception):
            page.goto(lab, timeout=WAIT)
            break
        time.sleep(1)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=WAIT)
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(PARAMETERS)
    page.get_by_text("Run", exact=True).first.click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function(
        f"document.querySelectorAll('{PICTURE}').length >= 3", timeout=WAIT
    )
    for picture in page.locator(PICTURE).all():
        assert len(picture.get_attribute("src")) > 5_000, "a picture is blank"
    assert page.locator(".jp-mod-error, [data-mime-type*=stderr]").count() == 0
    table = (smoke_study / "figures" / "smoke" / "04_ema.csv").read_text()
    assert "\n0.6," in table and "\n0.7," in table
