"""A trained model is taken away: saved, loaded by others, evaluated, embedded."""

import io
import os
from functools import partial

import numpy as np
import pytest
from texts import SENTENCES, full, hashed_words

from mocose_lib import Encoder, InputError, evaluate
from mocose_study.cli import run as command
from mocose_study.cli.run import Run
from mocose_study.config import vary
from mocose_study.data import benchmarks, encoders, labelled
from mocose_study.results import models
from mocose_study.runs import run as runs
from mocose_study.runs.files import read_run


@pytest.fixture
def saved(small, study):
    """A run through `mocose run --save`: its Config, record and the folder."""
    config = small(eval_max_length=75)  # all that it can read
    Run(config=config, save=study / "mine", out=study / "own").main()
    (file,) = (study / "own").glob("*.json")
    return config, read_run(file), study / "mine"


def test_a_saved_run_scores_as_its_run_file_says_whoever_loads_it(saved):
    config, record, folder = saved
    tables = benchmarks.test_tables(config.benchmark)
    told = pytest.approx(record["metrics"]["sts_avg"], abs=0.1)
    assert evaluate(models.encode_of(str(folder)), tables)["average"] == told
    with pytest.raises(InputError, match="has no trained pooler; choose another --po"):
        models.encode_of(str(folder), "cls_pooler")
    (folder / "mocose.json").unlink()  # now it is a folder of sentence-transformers
    other = models.encode_of(str(folder))
    assert evaluate(other, tables)["average"] == told
    lengths = np.linalg.norm(other(SENTENCES), axis=1)  # behind cosine's layer
    assert np.allclose(lengths, 1, atol=1e-5)
    told = "has a pooling of its own; leave --pooling out"
    with pytest.raises(InputError, match=told):
        models.encode_of(str(folder), "mean")


def test_a_run_ends_with_what_it_has_brought(capsys, saved):
    config, record, _ = saved
    before = models.untrained(config)
    told = f"untrained {before:.2f}, trained 50.00: {50 - before:+.2f}"
    assert models.gain(before, 50.0) == told
    gain = models.gain(before, record["metrics"]["sts_avg"])
    assert capsys.readouterr().out.splitlines()[-1] == gain
    assert models.untrained(vary(config, encoder="tiny", pooling="cls_pooler")) is None


def test_the_card_says_what_it_is(saved):
    config, record, folder = saved
    card = (folder / "README.md").read_text()
    texts = [config.encoder, "64 sentences", record["id"], '"queue_size": 12']
    texts += ["CC BY-SA", "license: cc-by-sa-3.0", "Findings of ACL 2022"]
    for text in (*texts, f"sts_avg: {record['metrics']['sts_avg']:.2f}"):
        assert text in card


def test_a_saved_run_is_an_encoder_for_another_run(saved, small):
    config, _, folder = saved
    assert encoders.fingerprint(str(folder)) != encoders.fingerprint(config.encoder)
    Run(config=small(encoder=str(folder), steps=2), out=folder.parent / "more").main()


def test_any_function_is_measured_on_any_files(study):
    encode = partial(hashed_words, dim=64)
    file = study / "data" / "open" / "snli2017.tsv"
    found = models.measure(encode, models.pairs_of([file]))
    wanted = evaluate(encode, {"x": benchmarks.read_pairs(file)})["average"]
    assert found == {"sts_avg": wanted, "snli2017 test all": wanted}
    for asked in ([], ["open"]):
        assert len(models.measure(encode, models.pairs_of(asked))) == 4
    with pytest.raises(InputError, match="two files of pairs have the same name"):
        models.pairs_of([file, file])


def test_real_tasks_and_transfer_without_files(real_data, monkeypatch):
    one = {"CR": labelled.transfer_task("CR")}
    monkeypatch.setattr(models, "transfer_tasks", lambda: one)
    found = models.measure(partial(hashed_words, dim=32), models.pairs_of(), True)
    assert {"STS12 test all", "SICK-R test all", "CR test"} <= set(found)


def test_embed_writes_one_vector_per_line(encoder, study):
    file = study / "mine.txt"
    file.write_text("\n".join(SENTENCES[:3]) + "\n")
    out = io.BytesIO()
    models.embed(encoder.encode, file, out)
    out.seek(0)
    vectors = np.load(out)
    assert np.array_equal(vectors, encoder.encode(SENTENCES[:3]))
    assert vectors.dtype == np.float32


def test_embed_refuses_vectors_without_numbers(study):
    (study / "mine.txt").write_text("one\ntwo\n")
    vectors, out = np.array([[1.0, 2.0], [1.0, np.nan]]), io.BytesIO()
    with pytest.raises(InputError, match=r"vector of line 2 has no numbers \(NaN\)"):
        models.embed(lambda lines: vectors, study / "mine.txt", out)
    assert not out.getvalue()


# --- what must not be lost, or written elsewhere ---
def test_a_disk_full_at_the_end_costs_no_training(small, study, eager, monkeypatch):
    """The save fails in a sentence, and the checkpoint stays."""
    again = Run(config=small(), save=study / "mine", out=study / "own")
    with monkeypatch.context() as disk:
        disk.setattr(Encoder, "save", full)
        with pytest.raises(InputError, match=r"mine cannot be written .*No space left"):
            again.main()
    checkpoint = runs.checkpoint_of(again.path().stem)
    assert again.path().exists() and checkpoint.read()["progress"]["step"] == 6
    monkeypatch.setattr("torch.Tensor.backward", lambda *_: pytest.fail("trained"))
    again.main()
    assert (study / "mine" / "mocose.json").exists() and not checkpoint.path.exists()


def test_a_full_disk_is_told_with_the_folder_before_the_training(study, monkeypatch):
    monkeypatch.setattr(command.os, "fsync", full)
    with pytest.raises(InputError, match="own cannot be written: No space left"):
        command.check_writable(study / "own")


def test_saving_follows_no_link_and_keeps_to_the_users_mask(saved):
    _, record, folder = saved
    other = folder.parent / "other"
    other.write_text("another's")
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(other)
    models.save(models.Fitted(len, encoder=Encoder.load(folder)), record, folder)
    assert other.read_text() == "another's" and not (folder / "README.md").is_symlink()
    mask = os.umask(0)
    os.umask(mask)
    assert (folder / "README.md").stat().st_mode & 0o777 == 0o666 & ~mask
