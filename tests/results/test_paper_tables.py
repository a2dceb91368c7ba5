"""data/paper: transcribed once, held to sums taken from a second reading."""

import pandas as pd
import pytest
from texts import ROOT

PAPER = ROOT / "data" / "paper"
ABOUT = {"index.csv", "errata.csv"}
STS = {"STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"}
TRANSFER = {"MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"}


def read(name: str) -> pd.DataFrame:
    """Every cell as text, as it is printed; an empty cell stays empty."""
    return pd.read_csv(PAPER / name, dtype=str, keep_default_na=False)


def averages(name: str) -> pd.DataFrame:
    """Printed and computed average of each row, where a table has seven tasks."""
    table = read(name)
    tasks = next((t for t in (STS, TRANSFER) if {*t, "avg"} == set(table.metric)), None)
    if tasks is None:
        return pd.DataFrame()
    named = lambda row: " & ".join(f"{k}={v}" for k, v in row.items())  # noqa: E731
    points = table[list(table)[:-2]].apply(named, axis=1)
    table = table.assign(row=points, value=table.value.astype(float))
    wide = table.pivot(index="row", columns="metric", values="value")
    assert wide.notna().all(axis=None), f"{name}: a task is missing"
    computed = wide[sorted(tasks)].mean(axis=1)
    return pd.DataFrame({"printed": wide["avg"], "computed": computed})


INDEX = read("index.csv").set_index("file")


def test_index_and_files_cover_each_other():
    assert {path.name for path in PAPER.glob("*.csv")} - ABOUT == set(INDEX.index)
    assert INDEX.index.is_unique
    assert set(INDEX.paper) == {"mocose", "mocose_anonymous", "simcse", "s_simcse"}
    assert (INDEX.what != "").all() and (INDEX.note != "").all()


@pytest.mark.parametrize("name", INDEX.index)
def test_a_table_agrees_with_the_second_reading(name):
    table, entry = read(name), INDEX.loc[name]
    assert list(table)[-2:] == ["metric", "value"] and len(list(table)) > 2
    assert table.value.str.fullmatch(r"\d+(\.\d+)?|\de-\d").all()
    assert len(table) == int(entry["cells"])
    total = table.value.astype(float).sum()
    assert total == pytest.approx(float(entry["sum"]), abs=0.0051)
    assert not table.duplicated(list(table)[:-1]).any()
    assert not (table[["metric", "value"]] == "").any(axis=None)
    assert table.map(lambda cell: cell == cell.strip()).all(axis=None)
    if name not in ("simcse_tableA1.csv", "simcse_text.csv"):  # no digit is lost
        assert table.value.str.split(".").str[1].str.len().nunique() == 1


def test_printed_averages_are_means_but_for_the_known_errata():
    rows = pd.concat({name: averages(name) for name in INDEX.index})
    rows = rows.rename_axis(["table", "row"]).reset_index()
    assert len(rows) > 80
    # seven rounded tasks and a rounded average: up to 0.01 apart without an error
    wrong = rows[(rows.printed - rows.computed).abs().round(6) > 0.01]
    for name in ("printed", "computed"):
        wrong = wrong.assign(**{name: wrong[name].map("{:.2f}".format)})
    known = read("errata.csv")[["table", "row", "printed", "computed"]]
    assert set(wrong.itertuples(False, None)) == set(known.itertuples(False, None))
