"""MTEB computes the same scores of a saved model, on local data."""

import datasets
import mteb
import pytest
from sentence_transformers import SentenceTransformer

from mocose_lib import Encoder, evaluate
from mocose_study.data import benchmarks
from mocose_study.data.encoders import locate


def scored_by_mteb(model, pairs):
    task = mteb.get_task("STS12")
    columns = {c: pairs[c].tolist() for c in ("sentence1", "sentence2", "score")}
    task.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(columns)})
    task.data_loaded = True
    (result,) = mteb.evaluate(model, [task], cache=None).task_results
    return 100 * result.get_score()


def test_the_tasks_have_the_same_scores(tmp_path):
    encoder = Encoder.load(locate("tiny"), pooling="mean")
    encoder.save(tmp_path / "model")
    model = SentenceTransformer(str(tmp_path / "model"))
    for name, pairs in benchmarks.test_tables("open").items():
        ours = evaluate(encoder.encode, {name: pairs})["average"]
        assert scored_by_mteb(model, pairs) == pytest.approx(ours, abs=0.1)
