"""Run files: their names, and how one is written and read.

A file has a digest of itself. Of its Config it has the fields that differ from the
defaults, and the number of these defaults. Older files have all fields.
"""

import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pandas as pd

from mocose_study.config import Config, InputError
from mocose_study.data.atomic import write_atomically
from mocose_study.data.files import study_folder
from mocose_study.data.sources import warn_once
from mocose_study.systems import digests

DEFAULTS = 1  # raise it whenever the default of a field of Config changes,
FORMER: dict[int, dict] = {}  # and put the old value here, under the number before


def run_id(config: Config, inputs: dict[str, str] | None = None) -> str:
    """The run's name: its method, and a digest of all fields and of what they name.

    inputs: `systems.digests` of the Config, where they are known already.
    """
    text = config.identity() + json.dumps(inputs or digests(config), sort_keys=True)
    return f"{config.method}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def run_file(config: Config, profile: str) -> Path:
    return study_folder() / "data" / "runs" / profile / f"{run_id(config)}.json"


def is_done(config: Config, profile: str) -> bool:
    return read_whole(run_file(config, profile)) is not None


def read_whole(path: Path) -> dict | None:
    """The record of a run file, or None. The log names a damaged file, once."""
    try:
        return read_run(path)
    except InputError as damage:
        if path.exists():
            warn_once(str(damage))
        return None


def write_run(path: Path, record: dict) -> None:
    """Writes the record with its id and its digest, a line a key, atomically."""
    whole = finite({"id": path.stem, "defaults": DEFAULTS, **record})
    usual, given = defaults(DEFAULTS).items(), whole["config"].items()
    whole["config"] = dict(field for field in given if field not in usual)
    whole["digest"] = digest(whole)
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in whole.items())
    text = "{" + ",\n ".join(lines) + "}\n"
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


@cache
def defaults(number: int) -> dict:
    """The defaults of Config that have a number. Raises ValueError for one to come."""
    if number > DEFAULTS:
        raise ValueError(f"newer code has written it (defaults {number})")
    found = finite(asdict(Config()))
    for former in range(DEFAULTS - 1, number - 1, -1):
        found |= FORMER[former]
    return found


def read_run(path: Path) -> dict:
    """The record of a run file, with its whole Config.

    Raises InputError when the file is missing, cut off, or changed.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        told = record.pop("digest", None)
        expected = digest(record)
        if number := record.pop("defaults", None):
            record["config"] = defaults(number) | record["config"]
    except FileNotFoundError:
        missing = f"there is no run file {path}; `mocose grid` makes it."
        raise InputError(missing) from None
    except (ValueError, AttributeError, TypeError, KeyError) as cause:
        raise _damaged(path, str(cause)) from None
    if told != expected or record["id"] != path.stem:
        raise _damaged(path, "its content does not match its digest or its name")
    return record


def _damaged(path: Path, reason: str) -> InputError:
    what = f"run file {path.name} is damaged: {reason}"
    return InputError(f"{what}; move it away to run it again.")


def digest(record: dict) -> str:
    """Sixteen digits that change with any value of the record."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def finite(value):
    """The same with null for what strict JSON has no word for: NaN and infinities."""
    return json.loads(json.dumps(value), parse_constant=lambda _: None)


def write_curves(record: dict, folder: Path) -> None:
    """The training's curves as CSV and for TensorBoard, below `folder`/<run id>."""
    from torch.utils.tensorboard import SummaryWriter

    target = folder / record["id"]
    with SummaryWriter(str(target)) as writer:
        for part in ("history", "trajectory"):
            table = pd.DataFrame(record["progress"].get(part, ()))
            if table.empty:
                continue
            table.to_csv(target / f"{part}.csv", index=False)
            for row in table.to_dict("records"):
                step = row.pop("step")
                for name, value in row.items():
                    if pd.notna(value):
                        writer.add_scalar(f"{part}/{name}", value, step)
