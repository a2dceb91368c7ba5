"""Scored pairs: read as they are written, refused with file and line."""

import csv

import farm
import pandas as pd
import pytest

from mocose_study.config import InputError
from mocose_study.data import benchmarks

HEADER = f"{farm.HEADER}\n"


def own(study, text, name="mine.tsv"):
    (study / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return study / name


def sizes(tables):
    return {name: len(table) for name, table in tables.items()}


def test_the_open_pairs_are_three_tasks_and_one_that_chooses(study):
    tables = benchmarks.test_tables("open")
    assert list(sizes(tables).values()) == [750, 250, 244]
    assert sizes(benchmarks.dev_tables("open")) == {"images2014 dev": 750}
    assert sizes(benchmarks.test_tables("sample")) == dict.fromkeys(tables, 60)


def test_the_seven_tasks_are_read_from_the_data_folder(study, monkeypatch):
    folder = farm.make(study / "pack")
    monkeypatch.setenv("MOCOSE_DATA", str(folder))
    names = "STS12 STS13 STS14 STS15 STS16 STS-B SICK-R".split()
    assert list(benchmarks.test_tables("real")) == [f"{name} test" for name in names]
    assert list(benchmarks.dev_tables("real")) == ["STS-B dev"]
    (folder / "sts" / "STS13.tsv").unlink()
    told = "the hub did not give STS13, which is not in the data folder"
    with pytest.raises(InputError, match=told):
        benchmarks.test_tables("real")


def test_files_of_ones_own_test_and_one_named_chooses(study):
    a = own(study, farm.table(), "a.tsv")
    b = own(study, farm.table(farm.PAIRS[:2]), "b.tsv")
    assert sizes(benchmarks.test_tables(f"{a},{b}")) == {"a test": 3, "b test": 2}
    assert list(benchmarks.dev_tables(f"{a},{b}")) == ["images2014 dev"]
    assert list(benchmarks.dev_tables(str(a), str(b))) == ["b dev"]
    a.write_text(farm.table(farm.PAIRS[1:]))  # changed in place: read again
    assert benchmarks.test_tables(f"{a},{b}")["a test"]["score"].tolist() == [0.5, 3.0]
    with pytest.raises(InputError, match=r"two files of .* have the same name"):
        benchmarks.test_tables(f"{a},{b},{a}")
    commas = own(study, farm.table(), "a, b.tsv")  # one file alone may have some
    assert list(benchmarks.dev_tables("open", str(commas))) == ["a, b dev"]


ONE, TWO = "1\tOne.\tTwo.\n", "2\tThree.\tFour.\n"
USELESS = {
    "empty": ("", "no tab-separated text with a header of names"),
    "header alone": (HEADER, "has 0 pairs"),
    "equal": (HEADER + ONE + ONE, "scores that are all equal"),
    "two columns": ("score\tsentence1\n3\tA hen.\n", "no column 'sentence2'; it needs"),
    "nan": (HEADER + ONE + "nan\tA.\tB.\n", "score that is no number in line 3"),
    "no second": (HEADER + ONE + "2\tFour.\t  \n", "empty sentence in line 3"),
    "no subset": (f"subset\t{HEADER}a\t{ONE}\t{TWO}", "empty subset in line 3"),
    "a name twice": ("score\tscore\n1\t2\n", "a header of names"),
    "short": (HEADER + ONE + "2\tThree.\n", "2 cells in line 3, but its header has 3"),
    "long": (HEADER + "1\tA.\tB.\tx\n", "4 cells in line 2, but its header has 3"),
    "cut": (HEADER + ONE + "2\tThree.\tFo", "cut off in line 3"),
    "latin": (f"{HEADER}1\t\xff\t\n".encode("latin-1"), "as UTF-8 text .* line 2"),
    "binary": (b"\0\n" * 9, "no text: line 1 holds a NUL"),
}


@pytest.mark.parametrize("content, told", USELESS.values(), ids=USELESS)
def test_a_useless_file_of_pairs_is_one_sentence(study, content, told):
    with pytest.raises(InputError, match=told) as caught:
        benchmarks.read_pairs(own(study, content))
    assert "mine.tsv" in str(caught.value) and "\n" not in str(caught.value)


def test_quotes_and_the_word_null_are_text_but_cells_in_quotes_are_refused(study):
    texts = {"sentence1": ["null", 'A "big" hen'], "sentence2": ['"A hen', "NA"]}
    path, table = study / "mine.tsv", pd.DataFrame({"score": [1.0, 2.0], **texts})
    table.assign(id="").to_csv(path, sep="\t", index=False, quoting=csv.QUOTE_NONE)
    assert benchmarks.read_pairs(path).drop(columns="id").equals(table)
    table.to_csv(path, sep="\t", index=False)
    with pytest.raises(InputError, match=r"a cell in CSV's quotes .* in line 2"):
        benchmarks.read_pairs(path)


# --- the pairs that choose ---
def test_pairs_outside_the_seven_tasks_occur_in_none_of_them(real_data, monkeypatch):
    """93 of SICK-R's 4,500 pairs and 4,076 of STS-B's 5,749 stand in a test set."""
    tables = benchmarks.outside_tables()
    assert sizes(tables) == {"SICK-R train": 4_407, "STS-B train": 1_673}
    columns = ["sentence1", "sentence2"]
    tested = pd.concat(benchmarks.test_tables("real").values())[columns]
    for table in tables.values():
        for order in (columns, columns[::-1]):
            assert table[order].set_axis(columns, axis=1).merge(tested).empty
    monkeypatch.delenv("MOCOSE_DATA")
    assert benchmarks.outside_tables() == {}


def test_607_pairs_of_stsb_dev_are_in_no_test_set(real_data):
    """893 of the 1,500 occur word for word in STS12 to STS16."""
    numbers = [3108, 1500, 3750, 3000, 1186, 1379, 4927]
    assert list(sizes(benchmarks.test_tables("real")).values()) == numbers
    assert sizes(benchmarks.dev_tables("real")) == {"STS-B dev": 1500}
    unseen = benchmarks.unseen(benchmarks.dev_tables("real"), "real")
    assert sizes(unseen) == {"STS-B dev": 1500 - 893}
