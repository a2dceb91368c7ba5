"""Scored pairs and labelled tables: read as they are written, refused with file and line."""

import csv

import farm
import pandas as pd
import pytest

from mocose_study.config import InputError
from mocose_study.data import benchmarks

HEADER = "score\tsentence1\tsentence2\n"


@pytest.fixture
def folder(study, monkeypatch):
    place = farm.make(study / "pack")
    monkeypatch.setenv("MOCOSE_DATA", str(place))
    return place


def own(study, text, name="mine.tsv"):
    (study / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return study / name


def test_the_open_pairs_are_three_tasks_and_one_that_chooses(study):
    sizes = {name: len(table) for name, table in benchmarks.test_tables("open").items()}
    assert sizes == {
        "images2015 test": 750,
        "snli2017 test": 250,
        "postediting2016 test": 244,
    }
    ((name, dev),) = benchmarks.dev_tables("open").items()
    assert name == "images2014 dev" and len(dev) == 750
    assert all(len(table) == 60 for table in benchmarks.test_tables("sample").values())


def test_the_seven_tasks_are_read_from_the_data_folder(folder):
    assert list(benchmarks.test_tables("real")) == [
        f"{task} test"
        for task in ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
    ]
    assert list(benchmarks.dev_tables("real")) == ["STS-B dev"]
    (folder / "sts" / "STS13.tsv").unlink()
    with pytest.raises(
        InputError, match="the hub did not give STS13, which is not in the data folder"
    ):
        benchmarks.test_tables("real")


def test_files_of_ones_own_test_and_one_named_chooses(study):
    a, b = (
        own(study, farm.table(), "a.tsv"),
        own(study, farm.table(farm.PAIRS[:2]), "b.tsv"),
    )
    tables = benchmarks.test_tables(f"{a},{b}")
    assert {name: len(table) for name, table in tables.items()} == {
        "a test": 3,
        "b test": 2,
    }
    assert list(benchmarks.dev_tables(f"{a},{b}")) == ["images2014 dev"]
    assert list(benchmarks.dev_tables(str(a), str(b))) == ["b dev"]
    a.write_text(farm.table(farm.PAIRS[1:]))  # changed in place: read again
    assert benchmarks.test_tables(f"{a},{b}")["a test"]["score"].tolist() == [0.5, 3.0]


def test_a_file_may_have_commas_in_its_name(study):
    names = ["a, b,c.tsv", "plain.tsv"]
    for name in names:
        (study / name).write_text("score\tsentence1\tsentence2\n1\ta\tb\n2\tc\td\n")
    both = ",".join(str(study / name) for name in names)
    assert list(benchmarks.test_tables(both)) == ["a, b,c test", "plain test"]
    assert list(benchmarks.dev_tables("open", str(study / names[0]))) == ["a, b,c dev"]
    assert benchmarks.files_of("x.tsv,y.tsv") == ["x.tsv", "y.tsv"]


def test_two_files_of_one_name_are_refused(study):
    (study / "other").mkdir()
    a, b = own(study, farm.table()), own(study, farm.table(), "other/mine.tsv")
    with pytest.raises(InputError, match="two files"):
        benchmarks.test_tables(f"{a},{b}")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "no tab-separated text with a header"),
        (HEADER, "has 0 pairs"),
        (HEADER + "1\tOne.\tTwo.\n1\tThree.\tFour.\n", "scores that are all equal"),
        (
            "score\tsentence1\n3\tA hen.\n",
            "has no column 'sentence2'; it needs score, sentence1",
        ),
        (
            HEADER + "1\tOne.\tTwo.\nnan\tThree.\tFour.\n",
            "score that is no number in line 3",
        ),
        (HEADER + "1\tOne.\tTwo.\n2\t\tFour.\n", "empty sentence in line 3"),
        (HEADER + "1\tOne.\tTwo.\n2\tFour.\t  \n", "empty sentence in line 3"),
        (
            "score\tscore\tsentence1\tsentence2\n",
            "no tab-separated text with a header of names",
        ),
        (
            HEADER + "1\tOne.\tTwo.\n2\tThree.\n",
            "has 2 cells in line 3, but its header has 3",
        ),
        (HEADER + "1\tOne.\tTwo.\tx\n", "has 4 cells in line 2, but its header has 3"),
        (HEADER + "1\tOne.\tTwo.\n2\tThree.\tFo", "cut off in line 3"),
        (b"score\tsentence1\tsentence2\n\xff\xfe\t\t\n", "no UTF-8 text"),
        (b"\0\n" * 9, "no tab-separated text"),
    ],
)
def test_a_useless_file_of_pairs_is_one_sentence_with_file_and_line(
    study, content, told
):
    with pytest.raises(InputError, match=told) as caught:
        benchmarks.read_pairs(own(study, content))
    assert "mine.tsv" in str(caught.value) and "\n" not in str(caught.value)


def test_columns_of_other_names_are_left_alone(study):
    more = "score\tsentence1\tsentence2\tsentence_id\n1\tOne.\tTwo.\t\n2\tThree.\tFour.\t\n"
    assert len(benchmarks.read_pairs(own(study, more))) == 2


def test_a_quote_and_the_word_null_are_ordinary_text(study):
    frame = benchmarks.read_pairs(
        own(study, HEADER + '2\tnull\t"A hen\n3\tNA\tA cock"\n')
    )
    assert frame["sentence1"].tolist() == ["null", "NA"]
    assert frame["sentence2"].tolist() == ['"A hen', 'A cock"']
    assert frame["score"].tolist() == [2.0, 3.0]


def test_what_pandas_writes_with_quotes_is_refused(study):
    table = pd.DataFrame(
        {"score": [1, 2], "sentence1": ["a", 'A "big" hen'], "sentence2": ["b", "c"]}
    )
    table.to_csv(study / "mine.tsv", sep="\t", index=False)
    with pytest.raises(
        InputError, match=r"mine\.tsv has a cell in CSV's quotes .* in line 3"
    ):
        benchmarks.read_pairs(study / "mine.tsv")
    table.to_csv(study / "mine.tsv", sep="\t", index=False, quoting=csv.QUOTE_NONE)
    assert benchmarks.read_pairs(study / "mine.tsv")["sentence1"][1] == 'A "big" hen'


# --- the pairs that choose ---
def test_dev_pairs_that_occur_in_a_test_set_are_left_out(monkeypatch):
    pairs = {
        "sentence1": ["a", "b", "c"],
        "sentence2": ["d", "e", "f"],
        "score": [1.0, 2.0, 3.0],
    }
    test = pd.DataFrame({"sentence1": ["e"], "sentence2": ["b"], "score": [4.0]})
    own = {"own dev": pd.DataFrame(pairs)}
    monkeypatch.setattr(benchmarks, "_own_tables", lambda *_: dict(own))
    monkeypatch.setattr(benchmarks, "test_tables", lambda *_: {"own test": test})
    assert list(
        benchmarks.dev_tables("own", "own", blind=True)["own dev"]["sentence1"]
    ) == [
        "a",
        "c",
    ]


def test_pairs_outside_the_seven_tasks_need_a_data_folder(study):
    assert benchmarks.outside_tables() == {}


def test_pairs_outside_the_seven_tasks_occur_in_none_of_them(real_data):
    """93 of SICK-R's 4,500 pairs and 4,076 of STS-B's 5,749 stand in a test set."""
    found = benchmarks.outside_tables()
    assert {name: len(t) for name, t in found.items()} == {
        "SICK-R train": 4_407,
        "STS-B train": 1_673,
    }
    columns = ["sentence1", "sentence2"]
    tested = pd.concat(benchmarks.test_tables("real").values())[columns]
    for table in found.values():
        for order in (columns, columns[::-1]):
            assert table[order].set_axis(columns, axis=1).merge(tested).empty


def test_607_pairs_of_stsb_dev_are_in_no_test_set(real_data):
    """893 of the 1,500 occur word for word in STS12 to STS16."""
    sizes = [len(table) for table in benchmarks.test_tables("real").values()]
    assert sizes == [3108, 1500, 3750, 3000, 1186, 1379, 4927]
    assert len(benchmarks.dev_tables("real")["STS-B dev"]) == 1500
    assert len(benchmarks.dev_tables("real", blind=True)["STS-B dev"]) == 1500 - 893
