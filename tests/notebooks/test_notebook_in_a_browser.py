"""In JupyterLab, in a browser: other numbers in the first cell, other figures."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from smoke import NOTEBOOKS, parameters_of
from texts import ROOT

SYSTEMS = {"systems": ["untrained [CLS]", "SimCSE", "MoCoSE"]}
SHARED = {"profile": "smoke", "seeds": None, "run_missing": True}
SHARED |= {"changes": {"steps": 2, "eval_every": 1}}
KNOBS = {
    "00": {"steps": 20},
    "01": {"decays": [0.6, 0.9], "queue_size": 256, "epsilons": [1e-8]},
    "02": {"systems": ["SimCSE", "CT"], "rates": [2e-3], "lengths": [3], "changes": {}},
    "03": {"systems": ["SimCSE"], "seeds": [0]},  # two minutes for each run
    "04": {"decays": [0.6, 0.7]},
    "05": {"projection_layers": [1], "predictor_layers": [0, 2], "widths": [384]},
    "06": {"augmentations": ["none", "typos"], "epsilons": [0.0, 1e-7]},
    "07": {"batch_sizes": [16, 32], "decays": [0.7]},
    "08": {"queue_sizes": [64, 256], "initial_fills": ["half"], "slices": ["all"]}
    | {"policies": ["normal", "oldest"]},
    "09": {"decays": [0.6, 0.7], "queue_sizes": [64], "batch_sizes": [16]}
    | {"beside": "smoke"},
    "10": SYSTEMS,
    "11": {"differences": ["chosen on the test sets", "shared embeddings"]},
    "12": {"decays": [0.1, 0.9], "rates": [2e-3], "collapse_decays": [0.1]},
    "13": {"to_code": ["shared embeddings"], "to_described": ["plain heads"]},
    "20": SYSTEMS | {"full": ["SimCSE"]},
    "21": {"rates": [0.1, 0.3], "shares": [0.4], "temperatures": [0.05, 0.2]}
    | {"weights": [0.7], "mlm_weights": [0.5]},
    "22": {"masks": ["fixed rate", "sampled"], "top": 2},
    "23": {"systems": ["untrained first-last", "whitening, each task"]}
    | {"trained": ["SimCSE"]},
    "90": {},
    "99": {"words": ["supported"], "systems": ["MoCoSE"]},
}
NEED_DATA = ("03", "21")  # tasks and triplets that do not come with the package
PICTURE = ".jp-OutputArea img"
RAN = """() => {
    if (document.querySelector('.jp-mod-error')) return true;
    const told = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
    return told.length && told.every(x => /\\d/.test(x.innerText));
}"""
WAIT = 600_000  # milliseconds, for notebooks that train on a busy machine

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(smoke_study, tmp_path):
    """The address of a JupyterLab with copies of all notebooks."""
    shutil.copytree(ROOT / "notebooks", folder := tmp_path / "lab")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--IdentityProvider.token=", f"--port={port}"]
    own = {"MOCOSE_STUDY": str(smoke_study)}  # and no notebook of before is opened
    own["JUPYTERLAB_WORKSPACES_DIR"] = str(tmp_path)
    command.append(f"--notebook-dir={folder}")
    server = subprocess.Popen(command, cwd=ROOT, env=os.environ | own)
    try:
        yield f"http://127.0.0.1:{port}/lab/tree"
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


def turned(path) -> dict:
    """The notebook's parameters with other numbers, and a point of one's own."""
    given = parameters_of(path)[1]
    own = {name: value for name, value in SHARED.items() if name in given}
    if path.stem[:2] in NEED_DATA and not os.environ.get("MOCOSE_DATA"):
        own["run_missing"] = False
    if "mine" in given:
        own["mine"] = given["mine"] | {"steps": 20}
    assert KNOBS[path.stem[:2]].keys() <= given.keys()
    return given | own | KNOBS[path.stem[:2]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_other_numbers_give_other_figures(path, lab, page, smoke_study):
    for _ in range(60):  # the server is not up at once
        with suppress(Exception):
            page.goto(f"{lab}/{path.name}", timeout=WAIT)
            break
        time.sleep(1)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=WAIT)
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+A")
    lines = [f"{name} = {value!r}" for name, value in turned(path).items()]
    page.keyboard.insert_text("\n".join(lines))
    page.get_by_text("Edit", exact=True).first.click()
    page.get_by_text("Clear Outputs of All Cells", exact=True).click()
    page.get_by_text("Run", exact=True).first.click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function(RAN, timeout=WAIT)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=WAIT)
    assert page.locator(".jp-mod-error, [data-mime-type*=stderr]").count() == 0
    for picture in page.locator(PICTURE).all():
        assert len(picture.get_attribute("src")) > 5_000, "a picture is blank"
    if path.stem == "04_ema":
        table = (smoke_study / "runs/smoke/figures/04_ema.csv").read_text()
        assert "\n0.6," in table and "\n0.7," in table
