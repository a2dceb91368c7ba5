"""The transfer tasks: files of the data folder, and SentEval's archive from the hub."""

import pytest
from senteval import write_archive

from mocose_study.config import InputError
from mocose_study.data import labelled

LINES = ["A caf\xe9 , said Bob : \x91 no \x92 .", "The  hen sings .", "A third one ."]
CLEAN = [" ".join(line.split()) for line in LINES]


@pytest.fixture
def hub(study, tmp_path, monkeypatch):
    """Where the hub's archive lies; no data folder is set."""
    monkeypatch.setattr(labelled, "from_hub", lambda name: tmp_path / name)
    return tmp_path / labelled.ARCHIVE


@pytest.fixture
def mr(study, monkeypatch):
    """Where a data folder has the task MR; it has nothing else."""
    (study / "pack" / "transfer").mkdir(parents=True)
    monkeypatch.setenv("MOCOSE_DATA", str(study / "pack"))
    return study / "pack" / "transfer" / "MR.tsv"


@pytest.mark.parametrize("top", ["", "./", "downstream/"])
def test_every_task_is_read_from_sentevals_archive(hub, top):
    write_archive(hub, LINES, top)
    tasks = labelled.transfer_tasks()
    assert list(tasks) == ["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"]
    for name in ("MR", "CR", "SUBJ", "MPQA"):
        assert tasks[name]["sentence"].tolist() == CLEAN + CLEAN, name
        assert tasks[name]["label"].tolist() == ["1"] * 3 + ["0"] * 3, name
        assert set(tasks[name]["split"]) == {"all"}, name
    assert tasks["SST2"]["split"].tolist() == ["train"] * 3 + ["dev"] * 3 + ["test"] * 3
    assert tasks["SST2"]["label"].tolist() == ["0", "1", "0"] * 3
    assert tasks["TREC"]["label"].tolist() == ["HUM", "LOC", "HUM"] * 2
    assert tasks["TREC"]["sentence"].tolist() == CLEAN * 2
    pairs = tasks["MRPC"]
    assert list(pairs) == ["split", "label", "sentence1", "sentence2"]
    assert pairs["sentence2"].tolist() == [f"not {line}" for line in CLEAN] * 2


@pytest.mark.parametrize("what", ["no archive", "no file", "other columns"])
def test_another_archive_is_one_sentence(hub, what):
    write_archive(hub, ["no\ttab"] if what == "other columns" else LINES, "")
    if what == "no archive":
        hub.write_text("nothing")
    if what == "no file":
        write_archive(hub, LINES, "of_")  # of_SST/…
    with pytest.raises(InputError, match="does not hold SST2 in SentEval's form"):
        labelled.transfer_task("SST2")


def test_a_file_of_the_data_folder_comes_first(hub, mr):
    write_archive(hub, LINES)
    mr.write_text("split\tlabel\tsentence\nall\t1\tA hen.\nall\t0\tno\n")
    assert labelled.transfer_task("MR")["sentence"].tolist() == ["A hen.", "no"]
    assert labelled.transfer_task("CR")["sentence"].tolist() == CLEAN + CLEAN


HEADER = "split\tlabel\tsentence\n"
USELESS = {
    "columns": ("split\tlabel\n", "has columns"),
    "empty": (HEADER + "all\t\tA hen.\n", "an empty cell"),
    "splits": (HEADER + "train\t1\tA hen.\n", "has the splits"),
    "labels": (HEADER + "all\t1\tA hen.\nall\t1\tA cock.\n", "fewer than two"),
}


@pytest.mark.parametrize("content, told", USELESS.values(), ids=USELESS)
def test_a_useless_transfer_task_is_one_sentence(mr, content, told):
    mr.write_text(content)
    with pytest.raises(InputError, match=told):
        labelled.transfer_task("MR")
