"""In JupyterLab, in a browser: other numbers in the first cell, other figures."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from smoke import parameters_of
from texts import ROOT

EMA = ROOT / "notebooks" / "04_ema.ipynb"
OWN = {"profile": "smoke", "decays": [0.6, 0.7], "run_missing": True}
OWN |= {"changes": {"steps": 2, "eval_every": 1}, "mine": {"steps": 20}}
PICTURE = ".jp-OutputArea img"
RAN = """() => {
    if (document.querySelector('.jp-mod-error')) return true;
    const told = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
    return told.length && told.every(x => /\\d/.test(x.innerText));
}"""
WAIT = 240_000  # milliseconds, for a kernel that starts on a busy machine

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(smoke_study, tmp_path):
    """The address of the notebook in a JupyterLab with a copy of it."""
    shutil.copy(EMA, tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--IdentityProvider.token=", f"--port={port}"]
    own = {"MOCOSE_STUDY": str(smoke_study)}  # and no notebook of before is opened
    own["JUPYTERLAB_WORKSPACES_DIR"] = str(tmp_path / "workspaces")
    command.append(f"--notebook-dir={tmp_path}")
    server = subprocess.Popen(command, cwd=ROOT, env=os.environ | own)
    try:
        yield f"http://127.0.0.1:{port}/lab/tree/{EMA.name}"
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
        yield opened.new_page(viewport={"width": 1400, "height": 40_000})
        opened.close()


def test_other_numbers_give_other_figures(lab, page, smoke_study):
    for _ in range(60):  # the server is not up at once
        with suppress(Exception):
            page.goto(lab, timeout=WAIT)
            break
        time.sleep(1)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=WAIT)
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+A")
    turned = parameters_of(EMA)[1] | OWN
    lines = [f"{name} = {value!r}" for name, value in turned.items()]
    page.keyboard.insert_text("\n".join(lines))
    page.get_by_text("Edit", exact=True).first.click()
    page.get_by_text("Clear Outputs of All Cells", exact=True).click()
    page.get_by_text("Run", exact=True).first.click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function(RAN, timeout=WAIT)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=WAIT)
    assert page.locator(".jp-mod-error, [data-mime-type*=stderr]").count() == 0
    pictures = [x.get_attribute("src") for x in page.locator(PICTURE).all()]
    assert len(pictures) >= 3 and min(map(len, pictures)) > 5_000, "one is blank"
    table = (smoke_study / "figures" / "smoke" / "04_ema.csv").read_text()
    assert "\n0.6," in table and "\n0.7," in table
