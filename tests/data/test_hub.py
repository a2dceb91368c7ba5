"""The profile `base` through transformers and datasets, to a hub on this machine."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from loopback_hub import Hub
from senteval import write_archive
from texts import ROOT, open_pairs, open_sentences

from mocose_study.config import InputError
from mocose_study.data import benchmarks
from mocose_study.data.encoders import PINNED
from mocose_study.data.labelled import TRANSFER

RUN = """--profile base --precision float32 --steps 2 --eval-every 2 --batch-size 8
--corpus-size 64 --max-length 16 --eval-max-length 16 --queue-size 16 --seed 3 --out
made"""
BERT = "google-bert/bert-base-uncased"
START = "from mocose_study.cli import main; main()"


@pytest.fixture
def repositories(tiny, tmp_path):
    """What `base` asks for, under the names and revisions under which it asks."""
    names = ("encoder", "corpus", "glove", "sts")
    encoder, corpus, glove, sts = (tmp_path / "hub" / name for name in names)
    shutil.copytree(tiny, encoder)
    for folder in (corpus, glove, sts):
        folder.mkdir()
    sentences = open_sentences(80)
    (corpus / "wiki1m_for_simcse.txt").write_text("\n".join(sentences))
    write_archive(corpus / "senteval.tar", sentences[:40])
    words = sorted({word for text in sentences for word in text.lower().split()})
    with zipfile.ZipFile(glove / "glove.6B.zip", "w") as archive:
        for width in (2, 5):
            vectors = pd.DataFrame(np.random.default_rng(0).normal(size=(99, width)))
            text = vectors.set_axis(words[:99]).to_csv(sep=" ", header=False)
            archive.writestr(f"glove.6B.{width}d.txt", text)
    for split in ("validation", "test"):
        path = sts / f"{split}.jsonl"
        open_pairs("images2015", 20).to_json(path, orient="records", lines=True)
    tasks = benchmarks.STS.values()
    return {
        BERT: (encoder, PINNED[BERT]),
        "datasets/princeton-nlp/datasets-for-simcse": (corpus, "f" * 40),
        "stanfordnlp/glove": (glove, "a" * 40),
        **{f"datasets/{row['repository']}": (sts, row["revision"]) for row in tasks},
    }


@pytest.fixture
def mocose(tmp_path):
    """`mocose` in a new process, since the hub's address is read once."""
    study = tmp_path / "study"
    paper = shutil.copytree(ROOT / "data" / "paper", study / "data" / "paper")
    listed = benchmarks.pair_digests(open_pairs("images2015", 20))
    (paper / "sickr_test_pairs.txt").write_text("\n".join(listed))

    def call(endpoint: str, *arguments: str):
        own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "home")}
        own |= {"HF_HUB_DISABLE_XET": "1", "MOCOSE_STUDY": str(study)}
        others = ("HF_", "MOCOSE_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(others)}
        command = [sys.executable, "-c", START, *arguments]
        options = {"capture_output": True, "text": True, "timeout": 300}
        return subprocess.run(command, cwd=tmp_path, env=kept | own, **options)

    return call


def test_a_run_of_base_gets_all_it_needs_from_the_hub(repositories, mocose, tmp_path):
    with Hub(repositories) as hub:
        for options in (["--transfer"], ["--method", "word_vectors"]):
            done = mocose(hub.url, "run", *options, *RUN.split())
            assert done.returncode == 0, done.stderr
        (averages,) = (tmp_path / "made").glob("word_vectors-*.json")
        assert "STS12 test all" in json.loads(averages.read_text())["metrics"]
        (file,) = (tmp_path / "made").glob("mocose-*.json")
        metrics = json.loads(file.read_text())["metrics"]
        assert {f"{task} test all" for task in benchmarks.STS} <= set(metrics)
        assert {f"{task} test" for task in TRANSFER} <= set(metrics)
        for name, (_, revision) in repositories.items():
            assert any(f"{name}/resolve/{revision}" in line for line in hub.asked), name


@pytest.mark.parametrize("what", ["no network", "a broken file"])
def test_what_the_hub_does_not_give_is_one_sentence(repositories, mocose, what):
    with Hub(repositories) as hub:
        hub.broken = what == "a broken file"
        url = "http://127.0.0.1:9" if what == "no network" else hub.url
        done = mocose(url, "run", *RUN.split())
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert f"the hub did not give the encoder {BERT!r} (" in last


def test_the_test_split_of_sickr_is_found_among_all_its_pairs(real_data):
    splits = ("dev", "test", "train")
    dev, test, train = (benchmarks.sts_pairs("SICK-R", split) for split in splits)
    columns = list(benchmarks.PAIR_COLUMNS)
    named = benchmarks.sickr_test(pd.concat([train, test, dev], ignore_index=True))
    one, other = (set(map(tuple, t[columns].to_numpy())) for t in (named, test))
    assert len(named) == len(test) == 4927 and one == other
    with pytest.raises(InputError, match="has only 4926 of the 4927 test pairs"):
        benchmarks.sickr_test(test.iloc[1:])
