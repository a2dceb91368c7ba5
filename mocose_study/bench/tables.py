"""Ratios and tables from the files of benchmarks; everything shown is derived from them here."""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mocose_lib import InputError
from mocose_study.data.files import study_folder

from . import cost as formula

SETTLED = 0.2  # of the steps, after which memory shall not grow
# part | figure | its slow and its fast side | what the study has set itself. The ratio of seconds
# shall reach the target; where the figure says "at most" it shall stay below.
PROMISES = """
training | MoCoSE float32 / authors' code | authors' code | MoCoSE float32 | 6
training | SimCSE float32 / * | * SimCSE float32 | SimCSE float32 | 3
training | SimCSE bf16 / * | * SimCSE bf16 | SimCSE bf16 | 3
training | MoCoSE float32 / without fast forms | MoCoSE without fast forms | MoCoSE float32 |
training | MoCoSE float32 / plain loop | plain MoCoSE float32 | MoCoSE float32 |
training | MoCoSE bf16 / MoCoSE float32 | MoCoSE float32 | MoCoSE bf16 | 2
training | floor / MoCoSE float32 | floor float32 | MoCoSE float32 | 0.5
training | floor / MoCoSE bf16 | floor bf16 | MoCoSE bf16 |
evaluation | STS tasks / *, its batch of 16 | * STS, batch 16 | STS | 2
evaluation | STS tasks / *, batch of 128 | * STS, batch 128 | STS | 2
evaluation | transfer tasks / encoding them (at most) | transfer | encoding | 3
evaluation | probe / training step (at most) | probe | step | 1
grid | grid: side by side / one at a time | one at a time | side by side | 1.3
pretraining | pre-training: floor / float32 | floor float32 | pre-training float32 | 0.6
pretraining | pre-training: bf16 / float32 | pre-training float32 | pre-training bf16 | 2
gpu | GPU: floor / MoCoSE bf16 | floor bf16 | MoCoSE bf16 | 0.45
gpu | GPU: many runs side by side / one | one at a time | side by side | 10
""".replace("*", "sentence-transformers").strip()
AUTHORS, FLOOR = "MoCoSE float32 / authors' code", "floor / MoCoSE float32"
ANSWERS = {
    "MoCoSE beside the authors' code": AUTHORS,
    "SimCSE beside sentence-transformers": "SimCSE float32 / sentence-transformers",
    "STS evaluation beside theirs": "STS tasks / sentence-transformers, batch of 128",
    "Share of the floor that a step reaches": FLOOR,
}
NOT_MEASURED = {"authors' code"}  # a row says so where a record lacks it
COLUMNS = ["figure", "encoder", "text", "median", "low", "high", "n"]
COLUMNS += ["by processor time", "target", "reached"]


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


def settings(record: dict) -> pd.DataFrame:
    """How every part was measured, a column each."""
    return pd.DataFrame(record["origins"])


def rows(record: dict, part: str) -> pd.DataFrame:
    """The rows of a part. Raises InputError when the benchmark left it out."""
    if part not in record:
        raise InputError(f"benchmark {record['id']} has no part {part!r}; run it without --parts.")
    table = pd.DataFrame(record[part])
    if "encoding" in table:  # the seconds of the transfer tasks that went into encoding
        part = table[table["encoding"].notna()]
        encoding = part.assign(system="encoding", seconds=part["encoding"], cpu_seconds=None)
        table = pd.concat([table, encoding], ignore_index=True)
    return table


def spread(values: pd.Series) -> dict[str, float]:
    """Median, smallest and largest of the rounds."""
    return {"median": values.median(), "low": values.min(), "high": values.max(), "n": len(values)}


def ratio(table: pd.DataFrame, slow: str, fast: str, by: str = "seconds") -> pd.Series:
    """seconds of `slow` / seconds of `fast`, round by round."""
    column = table.set_index(["repeat", "system"])[by].unstack()
    return (column[slow] / column[fast]).dropna()


def throughput(record: dict) -> pd.DataFrame:
    """Sentences a second of every system, encoder and text, and milliseconds a step."""
    table = rows(record, "training")
    table = table[~table["system"].str.startswith(("floor", "products"))]
    table = table.assign(rate=table["batch"] / table["seconds"], ms=1e3 * table["seconds"])
    by = ["encoder", "text", "system"]
    found = []
    for case, group in table.groupby(by, sort=False):
        named = dict(zip(by, case, strict=True))
        found.append({**named, **spread(group["rate"]), "ms a step": group["ms"].median()})
    return pd.DataFrame(found)


def ratios(record: dict) -> pd.DataFrame:
    """Every figure: median of the rounds, their spread, the same in processor time, the target.

    A ratio says how many times as fast the figure's first side is as its second.
    """
    promises = [[cell.strip() for cell in line.split("|")] for line in PROMISES.split("\n")]
    found = [line for promise in promises for line in _lines(record, *promise)]
    return pd.DataFrame(found, columns=COLUMNS)


def _lines(record: dict, part: str, figure: str, slow: str, fast: str, aim: str) -> Iterator[dict]:
    """The rows of `ratios` for one promise: one for each encoder and text."""
    if part not in record:
        return
    table, target = rows(record, part), float(aim) if aim else None
    table = table.assign(**{name: "" for name in ("encoder", "text") if name not in table})
    for (encoder, text), group in table.groupby(["encoder", "text"], sort=False):
        line = {"figure": figure, "encoder": encoder, "text": text, "target": target}
        pair = group[group["system"].isin([slow, fast])]
        if pair["system"].nunique() == 2:
            values = ratio(group, slow, fast)
            line |= spread(values)
            if "cpu_seconds" in pair and pair["cpu_seconds"].notna().all():
                seconds = ratio(pair, slow, fast, "cpu_seconds")
                line["by processor time"] = seconds.median()
            if target:
                reached = line["median"] <= target if "at most" in figure else None
                line["reached"] = line["median"] >= target if reached is None else reached
            yield line
        elif slow in NOT_MEASURED:
            yield line | {"reached": "not measured"}


def answers(record: dict) -> list[str]:
    """The main ratios in sentences: the range of the medians over encoders and texts."""
    found, said = ratios(record), []
    for words, figure in ANSWERS.items():
        medians = found.loc[found["figure"] == figure, "median"].dropna()
        ends, form = (medians.min(), medians.max()), "{:.0%}" if figure == FLOOR else "{:.1f} times"
        measured = " to ".join(map(form.format, ends)) if len(medians) else "not measured"
        said.append(f"{words}: {measured}.")
    return said


def at_the_floor(record: dict) -> list[str]:
    """What bounds the ratio to the authors' code: the same ratio for a step at the floor."""
    found = ratios(record).set_index(["figure", "encoder", "text"])["median"]
    authors, floor = (found.xs(name) for name in (AUTHORS, FLOOR))
    return [
        f"{encoder}: MoCoSE reaches {share:.0%} of the floor. At the floor itself it would be "
        f"{authors[encoder, text] / share:.1f} times as fast as the authors' code."
        for (encoder, text), share in floor.items()
        if pd.notna(authors.get((encoder, text)))
    ]


def cost(record: dict) -> tuple[pd.DataFrame, dict[str, float]]:
    """The measured points with floor, prediction and its relative error; the fitted numbers."""
    points, peak = record["cost"]["rows"], record["cost"]["peak"]
    fit = formula.fitted(points, peak)
    table = pd.DataFrame(points).assign(floor=[point["flops"] / peak for point in points])
    table["predicted"] = [formula.predicted(point, peak, fit) for point in points]
    return table.assign(error=table["predicted"] / table["seconds"] - 1), fit


def same_scores(record: dict) -> float:
    """The largest difference of a Spearman x 100 between ours and sentence-transformers'."""
    measured = [row for row in record["evaluation"] if row.get("scores")]
    found = [{"encoder": row["encoder"], **row["scores"]} for row in measured]
    by_encoder = pd.DataFrame(found).groupby("encoder")
    return float((by_encoder.max() - by_encoder.min()).to_numpy().max())


def pretraining(record: dict) -> pd.DataFrame:
    """Tokens a second of every encoder and precision, padding included, and the floor's."""
    table = rows(record, "pretraining")
    table = table.assign(rate=table["tokens"] / table["seconds"])
    return table.pivot_table(index="encoder", columns="system", values="rate", aggfunc="median")


def memory_growth(record: dict) -> float:
    """Megabytes that the process has grown since SETTLED of its steps."""
    table = rows(record, "memory")
    settled = table[table["step"] >= SETTLED * table["step"].max()]["megabytes"]
    return float(settled.iloc[-1] - settled.iloc[0])


def side_by_side() -> pd.DataFrame:
    """The medians of `ratios`, a column a processor."""
    found = {name: ratios(record) for name, record in machines().items()}
    medians = {n: t.set_index(["figure", "encoder", "text"])["median"] for n, t in found.items()}
    return pd.DataFrame(medians).dropna(how="all")
