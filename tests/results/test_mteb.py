"""MTEB computes the same scores of the same model; its data are replaced by local ones."""

import datasets
import mteb
import pytest

from mocose_lib import Encoder, evaluate
from mocose_study.data import benchmarks
from mocose_study.data.encoders import locate
from mocose_study.results.mteb_model import MTEBModel

NAMES = {"STS-B": "STSBenchmark"}  # of MTEB; the others have one name


def scored_by_mteb(model, pairs, name="STS12", cache=None):
    task = mteb.get_task(name)
    columns = {c: pairs[c].tolist() for c in ("sentence1", "sentence2", "score")}
    task.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(columns)})
    task.data_loaded = True
    results = mteb.evaluate(model, [task], cache=cache, show_progress_bar=False)
    (result,) = results.task_results
    return 100 * result.get_score()


@pytest.fixture(scope="module")
def encode():
    return Encoder.load(locate("tiny"), pooling="mean").encode


@pytest.mark.parametrize("benchmark", ["open", "real"])
def test_mteb_gives_the_same_scores(benchmark, encode, request):
    if benchmark == "real":
        request.getfixturevalue("real_data")
    tables = benchmarks.test_tables(benchmark)
    ours = evaluate(encode, tables)
    for name, pairs in tables.items():
        task = name.removesuffix(" test") if benchmark == "real" else "STS12"
        theirs = scored_by_mteb(MTEBModel(encode), pairs, NAMES.get(task, task))
        assert theirs == pytest.approx(ours[f"{name} all"], abs=0.1)


def test_mtebs_cache_on_disk_keeps_two_models_apart(encode, monkeypatch, tmp_path):
    monkeypatch.setenv("MTEB_CACHE", str(tmp_path))
    pairs = benchmarks.test_tables("sample")["images2015 test"]

    def starts(sentences):
        return encode([" ".join(s.split()[:2]) for s in sentences])

    first, other, again = (
        scored_by_mteb(MTEBModel(e), pairs, cache=mteb.ResultCache())
        for e in (encode, starts, encode)
    )
    assert again == pytest.approx(first, abs=1e-3)
    assert other != pytest.approx(first, abs=1)
