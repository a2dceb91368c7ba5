"""Ratios, tables and figures from the files of benchmarks; all that is shown is derived here."""

import json
from importlib.resources import files
from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from mocose_lib import InputError
from mocose_study.data.files import study_folder
from mocose_study.results.style import OURS, PAPER, log_axis, mark_legend, panel, rows_figure, style

from . import cost as formula

SETTLED = 0.2  # of the steps, after which memory shall not grow
# A row is a figure: its slow and its fast side, and what the study has set itself. The ratio of
# seconds shall reach the target; where the figure says "at most" it shall stay below.
PROMISES = pd.read_csv(files(__package__) / "promises.csv")
AUTHORS = "MoCoSE float32 / authors' code"
CASE = ["encoder", "text"]
COLUMNS = ["figure", *CASE, "median", "low", "high", "n", "by processor time", "target", "reached"]
SPREAD = {"median": "median", "low": "min", "high": "max", "n": "count"}  # of the rounds


def read(path: Path) -> dict:
    """A benchmark's record; its "origins" say of every part how it was measured.

    Raises InputError when its file is damaged.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        device, peaks = record["stamp"]["device"], record["peaks"]
        units = "with" if peaks["bf16"] > peaks["float32"] else "without"
        about = {"record": record["id"], "machine": f"{device}, {units} bf16 units"}
        about |= {"torch": record["stamp"]["packages"]["torch"]} | record["sizes"]
        about |= {f"peak {p}, GFLOP/s": round(x / 1e9) for p, x in peaks.items()}
    except (ValueError, KeyError) as cause:
        raise InputError(f"{path.name} is damaged ({cause}); delete it and run again.") from None
    origin = {name: str(value) for name, value in about.items() if name != "parts"}
    return record | {"origins": dict.fromkeys(record["sizes"]["parts"], origin)}


def machines() -> dict[str, dict]:
    """The records by processor, that of the newest benchmark first.

    A part that a processor's newest benchmark left out comes from the newest one that has it.
    Raises InputError when there is no benchmark.
    """
    folder = study_folder() / "data" / "runs" / "bench"
    found: dict[str, dict] = {}
    for path in sorted(folder.glob("bench-*.json"), key=lambda p: p.stem[-16:]):
        record = read(path)
        name = next(iter(record["origins"].values()))["machine"]
        older = found.pop(name, {})
        origins = older.get("origins", {}) | record["origins"]
        found[name] = older | record | {"origins": origins}
    if not found:
        raise InputError("there is no benchmark yet; make one with `mocose bench` or mode = 'run'.")
    return dict(reversed(found.items()))


def throughput(record: dict) -> pd.DataFrame:
    """Sentences a second of every system, encoder and text, and milliseconds a step."""
    table = pd.DataFrame(record["training"])
    table = table[~table["system"].str.startswith(("floor", "products"))]
    table = table.assign(rate=table["batch"] / table["seconds"], ms=1e3 * table["seconds"])
    groups = table.groupby(["encoder", "text", "system"], sort=False)
    found = groups["rate"].agg(**SPREAD)
    return found.assign(**{"ms a step": groups["ms"].median()}).reset_index()


def turns(record: dict) -> pd.DataFrame:
    """All turns of the parts that promises speak of; encoding for the transfer tasks is one, too."""
    parts = PROMISES["part"].unique()
    found = [{"part": part, **row} for part in parts for row in record.get(part, [])]
    for row in [row for row in found if "encoding" in row]:
        found.append({**row, "system": "encoding", "seconds": row["encoding"], "cpu_seconds": None})
    columns = ["part", "system", *CASE, "repeat", "seconds", "cpu_seconds"]
    return pd.DataFrame(found, columns=columns).fillna(dict.fromkeys(CASE, ""))


def ratios(record: dict) -> pd.DataFrame:
    """Every figure: median of the rounds, their spread, the same in processor time, the target.

    A ratio says how many times as fast the figure's first side is as its second. A record without
    the authors' code has rows of it, too, which say so.
    """
    slow, fast = (turns(record).rename(columns={"system": side}) for side in ("slow", "fast"))
    sides = PROMISES.merge(fast, on=["part", "fast"])
    sides = sides.merge(slow, "left", ["part", "slow", *CASE, "repeat"], suffixes=("", "_slow"))
    for clock in ("seconds", "cpu_seconds"):
        sides[clock] = sides[f"{clock}_slow"] / sides[clock]
    groups = sides.groupby(["figure", *CASE, "target"], sort=False, dropna=False)
    found = groups["seconds"].agg(**SPREAD)
    found["by processor time"] = groups["cpu_seconds"].median()
    found = found.query("n > 0 or figure == @AUTHORS").reset_index()
    excess = found["median"] - found["target"]
    reached = excess.ge(0).where(~found["figure"].str.contains("at most"), excess.le(0))
    reached = reached.astype(object).where(found["target"].notna())
    return found.assign(reached=reached.where(found["n"] > 0, "not measured"))[COLUMNS]


def medians(record: dict) -> pd.Series:
    """Those of `ratios`, by figure, encoder and text."""
    return ratios(record).set_index(["figure", *CASE])["median"]


def cost(record: dict) -> tuple[pd.DataFrame, pd.Series]:
    """The measured points with floor, prediction and its relative error; the fitted numbers."""
    table, peak = pd.DataFrame(record["cost"]["rows"]), record["cost"]["peak"]
    fit = formula.fitted(table, peak)
    predicted = formula.predicted(table, peak, fit)
    error = predicted / table["seconds"] - 1
    return table.assign(floor=table["flops"] / peak, predicted=predicted, error=error), fit


def pretraining(record: dict) -> pd.DataFrame:
    """Tokens a second of every encoder and precision, padding included, and the floor's."""
    table = pd.DataFrame(record["pretraining"]).eval("rate = tokens / seconds")
    return table.pivot_table(index="encoder", columns="system", values="rate", aggfunc="median")


def memory_growth(record: dict) -> float:
    """Megabytes that the process has grown since SETTLED of its steps."""
    table = pd.DataFrame(record["memory"]).set_index("step")["megabytes"]
    return float(table.iloc[-1] - table.loc[SETTLED * table.index.max() :].iloc[0])


def side_by_side() -> pd.DataFrame:
    """The medians of `ratios`, a column a processor."""
    found = {name: medians(record) for name, record in machines().items()}
    return pd.DataFrame(found).dropna(how="all")


def ratios_figure(table: pd.DataFrame) -> Figure:
    """Median and range over the rounds, a row a figure; the target as a mark."""
    table = table[table["median"].notna()]
    names = [", ".join(filter(None, x)) for x in table[["figure", "encoder", "text"]].to_numpy()]
    figure, ax = rows_figure(names, "speed of the first / of the second")
    rows = range(len(names))
    ax.hlines(rows, table["low"], table["high"], color=OURS, lw=2)
    ax.plot(table["median"], rows, "o", color=OURS, ms=5)
    ax.plot(table["target"].astype(float), rows, "D", color=PAPER, ms=5, mfc="none")
    ax.axvline(1, color="black", lw=0.8)
    log_axis(ax)
    mark_legend(figure, {"median and range of the rounds": ("o", OURS), "target": ("D", PAPER)})
    return figure


def breakdown_figure(table: pd.DataFrame) -> Figure:
    """A bar a step, made of what its time goes into."""
    table = table.assign(step=table["encoder"] + " " + table["precision"])
    wide = table.pivot(index="step", columns="kind", values="milliseconds")
    share = 100 * wide[table["kind"].unique()].div(wide.sum(axis=1), axis=0)
    figure, ax = panel(0.6 * len(wide) + 2.0)
    colors = sns.color_palette("colorblind", share.shape[1])
    share.plot.barh(stacked=True, ax=ax, color=colors, width=0.7, legend=False)
    ax.set(xlabel="share of a training step (%)", ylabel="", xlim=(0, 100))
    ax.grid(axis="y", visible=False)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


def cost_figure(table: pd.DataFrame) -> Figure:
    """Measured milliseconds a step beside the formula's, over each thing that is varied."""
    style(layout=False)
    grid = sns.FacetGrid(table, col="varied", col_wrap=3, height=2.4, sharex=False)
    looks = {"seconds": ("o", OURS), "predicted": ("-", PAPER), "floor": (":", "black")}
    for name, ax in grid.axes_dict.items():
        part = table[table["varied"] == name].sort_values("value")
        for column, (mark, color) in looks.items():
            ax.plot(part["value"], 1e3 * part[column], mark, color=color)
        ax.set(xlabel=name, xscale="log", yscale="log", title="")
        ax.set_xticks(part["value"], part["value"].map("{:,}".format), fontsize=7)
        ax.minorticks_off()
    grid.set_ylabels("ms a step").tight_layout(rect=(0, 0, 1, 0.93))
    grid.figure.legend(ax.lines, ("measured", "formula", "floor"), loc="upper center", ncols=3)
    return grid.figure
