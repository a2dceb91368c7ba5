"""Every notebook turns, and runs without runs; nbval executes it with its own."""

import papermill
import pytest
from smoke import NOTEBOOKS, ROOT, execute, parameters_of
from texts import raising

from mocose_lib import InputError

EMA = ROOT / "notebooks" / "04_ema.ipynb"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_without_any_run(path, smoke_study, monkeypatch):
    own = {"profile": "smoke", "mine": {}, "steps": 2, "beside": "smoke"}
    _, known = parameters_of(path)
    own |= {name: value[:2] for name, value in known.items() if isinstance(value, list)}
    own = {name: value for name, value in own.items() if name in known}
    execute(path, smoke_study, monkeypatch, **own)
    assert not list((smoke_study / "data" / "runs").glob("smoke/*"))


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
