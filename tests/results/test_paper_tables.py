"""The papers' figures under data/paper: transcribed once, held to sums taken from a second reading of the same tables."""

import pandas as pd
import pytest
from texts import ROOT

PAPER = ROOT / "data" / "paper"
ABOUT = {"index.csv", "errata.csv", "statements.csv"}
STS = ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"]
TRANSFER = ["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"]
PAPERS = {"mocose", "mocose_anonymous", "simcse", "s_simcse"}


def read(name: str) -> pd.DataFrame:
    """Every cell as text, as it is printed; an empty cell stays empty."""
    return pd.read_csv(PAPER / name, dtype=str, keep_default_na=False)


def point_columns(table: pd.DataFrame) -> list[str]:
    return list(table.columns[:-2])


def select(name: str, conditions: str, metric: str) -> float:
    """The one number of a table that `field=value & field=value` picks out."""
    table = read(name)
    rows = table[table.metric == metric]
    for condition in conditions.split(" & "):
        field, value = condition.split("=", 1)
        rows = rows[rows[field] == value]
    assert len(rows) == 1, f"{name}: {conditions} picks {len(rows)} rows"
    return float(rows.value.iloc[0])


def rows_with_average(name: str) -> pd.DataFrame:
    """One row per point, one column per metric, where a table has seven tasks and their average."""
    table = read(name)
    tasks = next((t for t in (STS, TRANSFER) if {*t, "avg"} == set(table.metric)), None)
    if tasks is None:
        return pd.DataFrame()
    points = table[point_columns(table)].apply(
        lambda row: " & ".join(f"{k}={v}" for k, v in row.items()), axis=1
    )
    wide = table.assign(row=points, value=table.value.astype(float)).pivot(
        index="row", columns="metric", values="value"
    )
    assert wide.notna().all(axis=None), f"{name}: a task is missing"
    return pd.DataFrame({"printed": wide["avg"], "computed": wide[tasks].mean(axis=1)})


INDEX = read("index.csv")
STATEMENTS = read("statements.csv")
TABLES = list(INDEX.file)


def test_index_and_files_cover_each_other():
    assert {p.name for p in PAPER.glob("*.csv")} - ABOUT == set(TABLES)
    assert INDEX.file.is_unique
    assert set(INDEX.paper) == PAPERS
    shared = INDEX.source_file.str.fullmatch(r"00[0-4]_[0-9a-f]{16}\.txt")
    assert (shared | INDEX.source_file.str.startswith("arXiv:2104.08821 ")).all()
    assert set(INDEX[~shared].paper) == {
        "simcse"
    }  # whose tables are not in the shared texts
    assert (INDEX.what != "").all() and (INDEX.note != "").all()


@pytest.mark.parametrize("name", TABLES)
def test_table_agrees_with_the_second_reading(name):
    table, entry = read(name), INDEX.set_index("file").loc[name]
    assert list(table.columns[-2:]) == ["metric", "value"] and point_columns(table)
    assert table.value.str.fullmatch(r"\d+(\.\d+)?|\de-\d").all()
    assert len(table) == int(entry["cells"])
    assert table.value.astype(float).sum() == pytest.approx(
        float(entry["sum"]), abs=0.0051
    )
    assert not table.duplicated([*point_columns(table), "metric"]).any()
    assert not (table[["metric", "value"]] == "").any(axis=None)
    assert table.map(lambda cell: cell == cell.strip()).all(axis=None)
    if name not in (
        "simcse_tableA1.csv",
        "simcse_text.csv",
    ):  # no printed digit is lost
        assert table.value.str.split(".").str[1].str.len().nunique() == 1


def test_printed_averages_are_means_but_for_the_known_errata():
    averages = {name: rows_with_average(name) for name in TABLES}
    rows = pd.concat(averages).rename_axis(["table", "row"]).reset_index()
    assert len(rows) > 80
    # seven rounded tasks and a rounded average: up to 0.01 apart without an error
    wrong = rows[(rows.printed - rows.computed).abs().round(6) > 0.01]
    found = {
        (r.table, r.row, f"{r.printed:.2f}", f"{r.computed:.2f}")
        for r in wrong.itertuples()
    }
    known = read("errata.csv")[["table", "row", "printed", "computed"]]
    assert found == set(known.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    "one, other, common",
    [
        ("mocose_table1.csv", "simcse_table5.csv", ["system", "encoder"]),
        ("mocose_table2.csv", "simcse_tableE1.csv", ["system", "encoder"]),
        (
            "mocose_table5.csv",
            "mocose_anonymous_table5.csv",
            ["augmentation", "augmentation_rate"],
        ),
        (
            "mocose_table7.csv",
            "mocose_anonymous_table7.csv",
            ["queue_size", "queue_init"],
        ),
    ],
)
def test_tables_that_share_rows_print_the_same(one, other, common):
    a, b = read(one), read(other)
    if "mlm_weight" in b:
        b = b[b.mlm_weight != "0.1"]
    if "queue_init" in common:  # no initialisation here is one random vector there
        a = a.assign(queue_init=a.queue_init.replace("0", "1"))
    both = a.merge(b, on=[*common, "metric"], suffixes=("_a", "_b"))
    assert len(both) >= min(len(a), len(b)) * 0.75
    assert (both.value_a == both.value_b).all()


def test_statements_name_a_source_that_exists():
    assert list(STATEMENTS.columns[:5]) == [
        "id",
        "paper",
        "where",
        "statement",
        "points",
    ]
    assert (
        STATEMENTS.id.is_unique
        and STATEMENTS.id.str.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*").all()
    )
    assert set(STATEMENTS.paper) == PAPERS
    assert not (STATEMENTS.drop(columns="paper_effect") == "").any(axis=None)
    for row in STATEMENTS.itertuples():
        if row.data.endswith(".csv"):
            assert INDEX.set_index("file").paper[row.data] == row.paper, row.id
        elif row.data.startswith("Figure "):
            assert row.data.split()[1] in row.where, row.id
        else:  # said in prose alone, without a number
            assert row.data == "text" and row.paper_effect == "", row.id
            assert any(
                word in row.where for word in ("section", "appendix", "abstract")
            ), row.id
    assert set(TABLES) - {"simcse_tableA1.csv"} <= set(
        STATEMENTS.data
    )  # each supports one


def test_effects_are_the_printed_differences():
    with_effect = STATEMENTS[STATEMENTS.paper_effect != ""]
    assert len(with_effect) > 100
    for row in with_effect.itertuples():
        first, second = row.points.split(" vs ")
        difference = select(row.data, first, row.metric) - select(
            row.data, second, row.metric
        )
        assert difference == pytest.approx(float(row.paper_effect), abs=1e-6), row.id
    comparable = STATEMENTS.data.str.endswith(".csv") & STATEMENTS.points.str.contains(
        " vs "
    )
    assert (STATEMENTS[comparable].paper_effect != "").all()
