"""Run files: their names, and how one is written and read.

Of its Config a file has the fields that differ from the defaults, and the number of
these defaults. A digest of all else stands at its end.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pandas as pd

from mocose_study.config import Config, InputError
from mocose_study.data.atomic import write_atomically
from mocose_study.data.files import study_folder
from mocose_study.data.sources import warn_once
from mocose_study.systems import SYSTEMS, digests

OBJECTS = ("config", "inputs", "metrics", "progress", "stamp")  # every file has them
DEFAULTS = 1  # Raise it whenever a default of Config changes, and put the old value
FORMER: dict[int, dict] = {}  # under each number whose files were written with it.


def run_id(config: Config, contents: dict | None = None) -> str:
    """The run's name: its method, and a digest of all fields and of what they name.

    contents: what `digests` gives for the Config, where that is known.
    """
    contents = digests(config) if contents is None else contents
    text = config.identity() + json.dumps(contents, sort_keys=True)
    return f"{config.method}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def run_ids(configs: Iterable[Config]) -> list[str]:
    """`run_id` of each. Files that several of them name are looked at once."""
    known, names = {}, []
    for config in configs:
        fields = ("method", "benchmark", "dev", "transfer")
        fields += tuple(SYSTEMS[config.method].reads)
        named = tuple(getattr(config, field) for field in fields)
        if named not in known:
            known[named] = digests(config)
        names.append(run_id(config, known[named]))
    return names


def run_file(config: Config, profile: str, folder: Path | None = None) -> Path:
    """The file of a run of the study, or of one's own where a `folder` is given."""
    folder = folder or study_folder() / "data" / "runs" / profile
    return folder / f"{run_id(config)}.json"


def read_whole(path: Path) -> dict | None:
    """The record of a run file, or None. The log names a damaged file, once."""
    try:
        return read_run(path)
    except InputError as damage:
        if path.exists():
            warn_once(str(damage))
        return None


def write_run(path: Path, record: dict) -> None:
    """Writes the record with its id and its digest, a line a key, atomically.

    Raises InputError, with the file's name, where it cannot be written.
    """
    whole = finite({"id": path.stem, "defaults": DEFAULTS, **record})
    usual, given = defaults(DEFAULTS).items(), whole["config"].items()
    whole["config"] = dict(field for field in given if field not in usual)
    whole["digest"] = digest(whole)
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in whole.items())
    text = "{" + ",\n ".join(lines) + "}\n"
    try:
        write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as cause:
        raise InputError(f"{path} cannot be written: {cause.strerror}.") from cause


@cache
def defaults(number: int) -> dict:
    """The defaults of Config as they were under a number."""
    return finite(asdict(Config())) | FORMER.get(number, {})


def read_run(path: Path) -> dict:
    """The record of a run file, with its whole Config.

    Raises InputError when the file is missing, no file, cut off, or changed.
    """
    if not path.exists():
        raise InputError(f"there is no run file {path}; `mocose grid` makes it.")
    try:
        if not path.is_file():
            raise ValueError("it is no file")
        record = json.loads(path.read_text(encoding="utf-8"))
        given = record.pop("digest", None)
        if given != digest(record) or record["id"] != path.stem:
            raise ValueError("its content does not match its digest or its name")
        number = record.pop("defaults")
        if number > DEFAULTS:
            raise ValueError(f"newer code has written it (defaults {number})")
        record["config"] = defaults(number) | record["config"]
        check_shape(record)
        return record
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError) as why:
        damage = f"run file {path.name} is damaged: {why}"
        raise InputError(f"{damage}; move it away to run it again.") from None


def check_shape(record: dict) -> None:
    """Raises an error where a part is missing, or is not what it must be."""
    progress = record["progress"]
    rows = (*progress.get("history", ()), *progress.get("trajectory", ()))
    if not all(isinstance(x, dict) for x in (*map(record.get, OBJECTS), *rows)):
        raise ValueError("a part of it is missing or misshapen")
    numbers = (record["seconds"], *record["metrics"].values())
    if not all(isinstance(x, int | float | None) for x in numbers):
        raise ValueError("a metric is no number")


def digest(record: dict) -> str:
    """Sixteen digits that change with any value of the record."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def finite(value):
    """The same with null for what strict JSON has no word for: NaN and infinities."""
    return json.loads(json.dumps(value), parse_constant=lambda _: None)


def write_curves(record: dict, folder: Path) -> None:
    """The training's curves as CSV and for TensorBoard, below `folder`/<run id>."""
    from torch.utils.tensorboard import SummaryWriter

    for part in ("history", "trajectory"):
        if rows := record["progress"].get(part):
            table, target = pd.DataFrame(rows).set_index("step"), folder / record["id"]
            with SummaryWriter(str(target)) as writer:
                for (step, name), value in table.stack().items():
                    writer.add_scalar(f"{part}/{name}", value, step)
            table.to_csv(target / f"{part}.csv")
