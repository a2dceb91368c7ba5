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
TEXT = "wiki1m_for_simcse.txt"
START = "from mocose_study.cli import main; main()"


@pytest.fixture
def repositories(tiny, tmp_path):
    """What `base` asks for, under the names and revisions under which it asks."""
    encoder, corpus = tmp_path / "hub" / "encoder", tmp_path / "hub" / "corpus"
    shutil.copytree(tiny, encoder)
    glove = tmp_path / "hub" / "glove"
    corpus.mkdir()
    glove.mkdir()
    sentences = open_sentences(80)
    (corpus / TEXT).write_text("\n".join(sentences))
    columns = (sentences[:60], sentences[:60], sentences[20:])
    triplets = dict(zip(("sent0", "sent1", "hard_neg"), columns, strict=True))
    pd.DataFrame(triplets).to_csv(corpus / "nli_for_simcse.csv", index=False)
    write_archive(corpus / "senteval.tar", sentences[:40])
    words = {word for sentence in sentences for word in sentence.lower().split()}
    with zipfile.ZipFile(glove / "glove.6B.zip", "w") as archive:
        for width in (2, 5):
            vectors = np.random.default_rng(0).normal(size=(len(words), width)).round(3)
            lines = (
                " ".join(map(str, [w, *v]))
                for w, v in zip(sorted(words), vectors, strict=True)
            )
            archive.writestr(f"glove.6B.{width}d.txt", "\n".join(lines))
    found = {
        "google-bert/bert-base-uncased": (
            encoder,
            PINNED["google-bert/bert-base-uncased"],
        ),
        "datasets/princeton-nlp/datasets-for-simcse": (corpus, "f" * 40),
        "stanfordnlp/glove": (glove, "a" * 40),
    }
    for task, source in benchmarks.STS.items():
        folder = tmp_path / "hub" / task
        folder.mkdir()
        for split in ("validation", "test"):
            open_pairs("images2015", 20).to_json(
                folder / f"{split}.jsonl", orient="records", lines=True
            )
        found[f"datasets/{source['repository']}"] = (folder, source["revision"])
    return found


@pytest.fixture
def mocose(tmp_path):
    """`mocose` in a new process, since the hub's address is read once."""
    pairs = open_pairs("images2015", 20)
    study = tmp_path / "study"
    shutil.copytree(ROOT / "data" / "paper", study / "data" / "paper")
    listed = benchmarks.pair_digests(pairs)
    (study / "data" / "paper" / "sickr_test_pairs.txt").write_text("\n".join(listed))

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


@pytest.mark.parametrize(
    "what", ["no network", "another revision", "a broken transfer"]
)
def test_what_the_hub_does_not_give_is_one_sentence(repositories, mocose, what):
    if what == "another revision":
        folder, _ = repositories["google-bert/bert-base-uncased"]
        repositories["google-bert/bert-base-uncased"] = folder, "0" * 40
    with Hub(repositories) as hub:
        hub.broken = what == "a broken transfer"
        url = "http://127.0.0.1:9" if what == "no network" else hub.url
        done = mocose(url, "run", *RUN.split())
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert (
        "encoder 'google-bert/bert-base-uncased' is neither a folder" in last
        and "hub" in last
    )


def test_the_test_split_of_sickr_is_found_among_all_its_pairs(real_data):
    splits = ("dev", "test", "train")
    dev, test, train = (benchmarks.sts_pairs("SICK-R", split) for split in splits)
    columns = list(benchmarks.PAIR_COLUMNS)
    named = benchmarks.sickr_test(pd.concat([train, test, dev], ignore_index=True))
    one, other = (set(map(tuple, t[columns].to_numpy())) for t in (named, test))
    assert len(named) == len(test) == 4927 and one == other
    with pytest.raises(InputError, match="has only 4926 of the 4927 test pairs"):
        benchmarks.sickr_test(test.iloc[1:])
