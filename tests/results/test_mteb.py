"""MTEB computes the same scores of a saved encoder; its data are local ones."""

import datasets
import mteb
import pytest
from sentence_transformers import SentenceTransformer

from mocose_lib import Encoder, evaluate
from mocose_study.data import benchmarks
from mocose_study.data.encoders import locate

NAMES = {"STS-B": "STSBenchmark"}  # of MTEB; the others have one name


def scored_by_mteb(model, pairs, name="STS12"):
    task = mteb.get_task(name)
    columns = {c: pairs[c].tolist() for c in ("sentence1", "sentence2", "score")}
    task.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(columns)})
    task.data_loaded = True
    results = mteb.evaluate(model, [task], cache=None, show_progress_bar=False)
    (result,) = results.task_results
    return 100 * result.get_score()


@pytest.mark.parametrize("benchmark", ["open", "real"])
def test_a_saved_encoder_has_the_same_scores(benchmark, tmp_path, request):
    if benchmark == "real":
        request.getfixturevalue("real_data")
    encoder = Encoder.load(locate("tiny"), pooling="mean")
    encoder.save(tmp_path)
    saved = SentenceTransformer(str(tmp_path))
    tables = benchmarks.test_tables(benchmark)
    ours = evaluate(encoder.encode, tables)
    for name, pairs in tables.items():
        task = name.removesuffix(" test") if benchmark == "real" else "STS12"
        theirs = scored_by_mteb(saved, pairs, NAMES.get(task, task))
        assert theirs == pytest.approx(ours[f"{name} all"], abs=0.1)
