"""MTEB computes the same scores of the same model, on local data."""

import datasets
import mteb
import pytest

from mocose_lib import Encoder, evaluate
from mocose_study.data import benchmarks
from mocose_study.data.encoders import locate
from mocose_study.results.mteb_model import MTEBModel


def scored_by_mteb(model, pairs, cache=False):
    task = mteb.get_task("STS12")
    columns = {c: pairs[c].tolist() for c in ("sentence1", "sentence2", "score")}
    task.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(columns)})
    task.data_loaded = True
    results = mteb.ResultCache() if cache else None
    options = dict(cache=results, show_progress_bar=False)
    (result,) = mteb.evaluate(model, [task], **options).task_results
    return 100 * result.get_score()


@pytest.fixture(scope="module")
def encode():
    return Encoder.load(locate("tiny"), pooling="mean").encode


def test_the_tasks_have_the_same_scores(encode):
    for name, pairs in benchmarks.test_tables("open").items():
        ours = evaluate(encode, {name: pairs})["average"]
        assert scored_by_mteb(MTEBModel(encode), pairs) == pytest.approx(ours, abs=0.1)


def test_mtebs_cache_on_disk_keeps_two_models_apart(encode, monkeypatch, tmp_path):
    monkeypatch.setenv("MTEB_CACHE", str(tmp_path))
    pairs = benchmarks.test_tables("sample")["images2015 test"]

    def starts(sentences):
        return encode([" ".join(s.split()[:2]) for s in sentences])

    models = map(MTEBModel, (encode, starts, encode))
    first, other, again = [scored_by_mteb(m, pairs, cache=True) for m in models]
    assert again == pytest.approx(first, abs=1e-3)
    assert other != pytest.approx(first, abs=1)
