"""Ratios and tables from the file of one benchmark; everything shown is derived from it here."""

import json
from pathlib import Path

import pandas as pd

from mocose_study.config import InputError
from mocose_study.data.files import study_folder
from mocose_study.bench.plain import AUTHORS

# What the study has set itself: at least; for transfer and the probe at most.
TARGETS = {"authors": 4.0, "simcse": 1.5, "grid": 1.3, "sts": 2.0, "floor": 0.5, "transfer": 3.0,
           "probe": 0.1, "gpu floor": 0.4, "gpu grid": 10.0}  # fmt: skip
PROBE_EVERY = 10  # steps, as SimCSE
SETTLED = 0.2  # of the steps, after which memory shall not grow


def newest() -> dict:
    """The newest benchmark's record, with the parts that it left out from the newest that has them.

    Raises InputError when there is none.
    """
    folder = study_folder() / "data" / "runs" / "bench"
    paths = sorted(folder.glob("bench-*.json"), key=lambda p: p.stem[-16:])
    if not paths:
        raise InputError("there is no benchmark yet; make one with `mocose bench` or mode = 'run'.")
    found: dict = {}
    for record in map(read, paths):
        found = found | record | {"origins": found.get("origins", {}) | record["origins"]}
    return found


def read(path: Path) -> dict:
    """A benchmark's record; its "origins" say of every part how it was measured.

    Raises InputError when its file is damaged.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as cause:
        raise InputError(f"{path.name} is damaged ({cause}); delete it and run again.") from None
    return record | {"origins": dict.fromkeys(record["sizes"]["parts"], _origin(record))}


def _origin(record: dict) -> dict[str, str]:
    """Where and how a record was measured: every field of `sizes.Sizes` but the parts."""
    stamp = record["stamp"]
    about = {"record": record["id"], "device": stamp["device"], "torch": stamp["packages"]["torch"]}
    peaks = {f"peak {p}, GFLOP/s": round(x / 1e9) for p, x in record["peaks"].items()}
    found = about | record["sizes"] | peaks
    return {name: str(value) for name, value in found.items() if name != "parts"}


def settings(record: dict) -> pd.DataFrame:
    """How every part was measured, a column each."""
    return pd.DataFrame(record["origins"])


def rows(record: dict, part: str) -> pd.DataFrame:
    """The rows of a part. Raises InputError when the benchmark left it out."""
    if part not in record:
        raise InputError(f"benchmark {record['id']} has no part {part!r}; run it without --parts.")
    return pd.DataFrame(record[part])


def precisions(record: dict) -> tuple[str, ...]:
    """Those that were trained in, the fastest one last."""
    systems = {row["system"] for row in record["training"]}
    return ("float32", "bf16") if "MoCoSE bf16" in systems else ("float32",)


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
    """Every promised figure: median of the rounds, their spread, the same in processor time where
    it was taken, the target, and whether the median reaches it."""
    found = [*_training(record), *_evaluation(record), *_grid(record), *_gpu(record)]
    return pd.DataFrame(found, columns=[
        "figure", "encoder", "text", "median", "low", "high", "n", "by processor time", "target",
        "reached"])  # fmt: skip


def _line(figure, group, slow, fast, factor=1.0, target=None, at_most=False, encoder="", text=""):
    """A row of `ratios`."""
    values = factor * ratio(group, slow, fast)
    cpu = None
    pair = group[group["system"].isin([slow, fast])]
    if "cpu_seconds" in pair and pair["cpu_seconds"].notna().all():
        cpu = (factor * ratio(pair, slow, fast, "cpu_seconds")).median()
    median = values.median()
    reached = None if target is None else (median <= target if at_most else median >= target)
    return {"figure": figure, "encoder": encoder, "text": text, **spread(values),
            "by processor time": cpu, "target": target, "reached": reached}  # fmt: skip


def _training(record: dict):
    if "training" not in record:
        return
    best = precisions(record)[-1]
    groups = rows(record, "training").groupby(["encoder", "text"], sort=False)
    for (encoder, text), group in groups:
        case = {"encoder": encoder, "text": text}
        plain = "plain MoCoSE float32"
        for name in dict.fromkeys(("float32", best)):
            ours = f"MoCoSE {name}"
            yield _line(f"{ours} / plain loop", group, plain, ours, **case)
        yield _line(f"MoCoSE {best} / authors' code", group, plain, f"MoCoSE {best}", AUTHORS,
                    TARGETS["authors"], **case)  # fmt: skip
        for name in precisions(record):
            yield _line(f"SimCSE {name} / sentence-transformers", group,
                        f"sentence-transformers SimCSE {name}", f"SimCSE {name}",
                        target=TARGETS["simcse"], **case)  # fmt: skip
        for name in precisions(record) if text == "full" else ():
            target = TARGETS["floor"] if (encoder, name) == ("4x256", best) else None
            yield _line(f"floor / MoCoSE {name}", group, f"floor {name}", f"MoCoSE {name}",
                        target=target, **case)  # fmt: skip


def bounds(record: dict) -> pd.DataFrame:
    """Of what `ratios` could be at most at full length, on this machine: if a step were nothing but
    its matrix products, each in its own shape (`floor.seconds_of`)."""
    best, found = precisions(record)[-1], []
    table = rows(record, "training")
    for encoder, group in table[table["text"] == "full"].groupby("encoder", sort=False):
        alone, case = f"products {best}", {"encoder": encoder, "text": "full"}
        found += [
            _line(f"{alone} / authors' code", group, "plain MoCoSE float32", alone, AUTHORS,
                  TARGETS["authors"], **case),
            _line(f"floor / {alone}", group, f"floor {best}", alone, **case),
        ]  # fmt: skip
    return pd.DataFrame(found)[["figure", "encoder", "median", "low", "high", "n", "target"]]


def _evaluation(record: dict):
    if "evaluation" not in record:
        return
    for encoder, group in rows(record, "evaluation").groupby("encoder", sort=False):
        theirs = [s for s in group["system"].unique() if s.startswith("sentence-transformers")]
        medians = group.groupby("system")["seconds"].median()
        best = min(theirs, key=lambda system: medians[system])
        yield _line(f"seven STS tasks / {best}", group, best, "STS", target=TARGETS["sts"],
                    encoder=encoder, text=group["benchmark"].iloc[0])  # fmt: skip
        whole = group[group["system"] == "transfer"]
        encoding = whole.assign(system="encoding", seconds=whole["encoding"], cpu_seconds=None)
        yield _line("time of seven transfer tasks / encoding them (at most)", pd.concat([whole, encoding]),
                    "transfer", "encoding", target=TARGETS["transfer"], at_most=True,
                    encoder=encoder, text=group["benchmark"].iloc[0])  # fmt: skip
        yield _line(f"probe / {PROBE_EVERY} training steps (at most)", group, "probe", "step",
                    1 / PROBE_EVERY, TARGETS["probe"], at_most=True, encoder=encoder)  # fmt: skip


def _grid(record: dict):
    if "grid" in record:
        yield _line(
            "grid: side by side / one at a time", rows(record, "grid"), "one at a time",
            "side by side", target=TARGETS["grid"], encoder="2x128", text="natural")  # fmt: skip


def _gpu(record: dict):
    if "gpu" in record:
        table = rows(record, "gpu")
        yield _line("GPU: floor / MoCoSE bf16", table, "floor bf16", "MoCoSE bf16",
                    target=TARGETS["gpu floor"], encoder=table["encoder"].iloc[0], text="full")
        yield _line("GPU: many runs side by side / one", table, "one at a time", "side by side",
                    target=TARGETS["gpu grid"], encoder="2x128", text="natural")  # fmt: skip


def cost(record: dict) -> pd.DataFrame:
    """The measured points with the formula's prediction and the floor, and their relative error."""
    table = pd.DataFrame(record["cost"]["rows"])
    table["floor"] = table["flops"] / record["cost"]["peak"]
    return table.assign(error=table["predicted"] / table["seconds"] - 1)


def same_scores(record: dict) -> float:
    """The largest difference of a Spearman x 100 between ours and sentence-transformers'."""
    measured = [row for row in record["evaluation"] if row.get("scores")]
    found = [{"encoder": row["encoder"], **row["scores"]} for row in measured]
    by_encoder = pd.DataFrame(found).groupby("encoder")
    return float((by_encoder.max() - by_encoder.min()).to_numpy().max())


def memory_growth(record: dict) -> float:
    """Megabytes that the process has grown since SETTLED of its steps."""
    table = rows(record, "memory")
    settled = table[table["step"] >= SETTLED * table["step"].max()]["megabytes"]
    return float(settled.iloc[-1] - settled.iloc[0])
