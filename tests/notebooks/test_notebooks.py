"""Every notebook runs from top to bottom, and turns with its parameters."""

import random
from dataclasses import asdict

import papermill
import pytest
from smoke import ALONE, NOTEBOOKS, ROOT, execute, parameters_of
from texts import raising

from mocose_lib import InputError
from mocose_study.results import tables

EMA = ROOT / "notebooks" / "04_ema.ipynb"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_without_any_run(path, smoke_study, monkeypatch):
    own = {"profile": "smoke", "mine": {}, "steps": 2, "beside": "smoke"}
    _, known = parameters_of(path)
    own |= {name: value[:2] for name, value in known.items() if isinstance(value, list)}
    own = {name: value for name, value in own.items() if name in known}
    execute(path, smoke_study, monkeypatch, **own)
    assert not list((smoke_study / "data" / "runs").glob("smoke/*"))


def made_up(section, profile, seeds=None) -> list[tuple]:
    """Runs with records that nobody made, as `tables.looked_up` has them."""
    tasks = [f"{task} test all" for task in "STS12 STS13 STS15 STS-B".split()]
    tasks += "sts_avg sts_last sts_dev outside_avg".split()
    tasks += ["TREC test", "transfer_avg", "transfer_dev_avg"]
    shapes = "alignment uniformity effective_rank mean_cosine cosine_spread".split()
    aged = {"step": 100, "retained": [1.0, 0.5], "n": [64, 64]}
    shared = {"id": "", "seconds": 1.0, "spectrum": [1.0, 0.5]}
    shared |= {"stamp": {"finished": "2026-12-01"}}
    found = []
    for label, config in section.runs(profile, seeds):
        draw = random.Random(config.identity()).gauss
        metrics = {task: draw(40, 2) for task in tasks}
        metrics |= {f"{shape} dev": draw(-1, 0.1) for shape in shapes}
        rows = [{"step": i, "score": draw(40, 1), "test": 40.0} for i in (50, 100)]
        rows = [row | dict.fromkeys(shapes, -1.0) for row in rows]
        progress = {"history": rows, "trajectory": rows, "staleness": [aged] * 3}
        own = {"metrics": metrics, "progress": progress | {"best_step": 50}}
        found.append((label, config, shared | own | {"config": asdict(config)}))
    return found


@pytest.mark.parametrize("path", NOTEBOOKS[1:-1], ids=lambda path: path.stem)
def test_it_draws_and_judges_all_runs(path, smoke_study, monkeypatch):
    monkeypatch.setattr(tables, "looked_up", made_up)
    _, known = parameters_of(path)
    own = {"profile": "tiny", "mine": {}, "seeds": list(range(5))}
    own = {name: value for name, value in own.items() if name in known}
    execute(path, smoke_study, monkeypatch, **own)
    drawn = list((smoke_study / "runs").glob(f"*/figures/{path.stem[:2]}*.svg"))
    assert drawn or path.stem in ALONE


def test_papermill_gives_a_figure_with_ones_own_decays(smoke_study, monkeypatch):
    monkeypatch.setenv("MOCOSE_STUDY", str(smoke_study))
    monkeypatch.setenv("MOCOSE_WORKERS", "0")
    own = {"profile": "smoke", "run_missing": True, "mine": {}}
    out, quiet = smoke_study / EMA.name, {"progress_bar": False}
    own |= {"decays": [0.6, 0.7, 0.8], "changes": {"steps": 2, "eval_every": 1}}
    papermill.execute_notebook(EMA, out, own, kernel_name="python3", **quiet)
    figures = smoke_study / "runs" / "smoke" / "figures"
    table = (figures / "04_ema.csv").read_text()
    labels = [line.split(",")[0] for line in table.splitlines()[1:]]
    assert labels == ["0.75 → 0.95", "0.6", "0.7", "0.8"]
    assert (figures / "04_ema.svg").stat().st_size > 10_000
    assert out.read_text().count('"image/png"') == 2
    # runs of one's own are no evidence of the study
    assert len(list((smoke_study / "runs" / "smoke").glob("*.json"))) == 4
    assert not list((smoke_study / "data" / "runs").glob("smoke/*"))


def test_a_wrong_parameter_is_one_sentence(smoke_study, monkeypatch):
    started = raising(AssertionError("a run started"))
    monkeypatch.setattr("mocose_study.results.opened.run_grid", started)
    wrong = {"profile": "smoke", "run_missing": True, "decay": [0.7]}
    told = "no parameter of this notebook 'decay'; choose one of"
    with pytest.raises(InputError, match=told):
        execute(EMA, smoke_study, monkeypatch, **wrong)
