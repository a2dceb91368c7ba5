"""Run files: their names, and how one is written and read.

A file has those fields of its Config that differ from the defaults, and the number of
these defaults. Its last line is a digest of all others.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from operator import attrgetter
from pathlib import Path

from mocose_study.config import Config, InputError, choose
from mocose_study.data import sources
from mocose_study.data.atomic import write_atomically
from mocose_study.data.files import study_folder
from mocose_study.systems import SYSTEMS, input_digests

DEFAULTS = 1  # of Config; where one changes, raise it, and rewrite all older files


def run_ids(configs: Iterable[Config]) -> list[str]:
    """The runs' names: method, and a digest of all fields and of the files they name.

    Files that several of them name are looked at once.
    """
    known, names = {}, []
    for config in configs:
        reads = choose(SYSTEMS, config.method, "method").reads
        kinds = ("method", "benchmark", "dev", "transfer", "text_augmentation")
        fields = attrgetter(*kinds, *reads)
        if (named := fields(config)) not in known:
            known[named] = json.dumps(input_digests(config), sort_keys=True)
        digits = sources.digest(config.identity() + known[named])[:12]
        names.append(f"{config.method}-{digits}")
    return names


def run_files(
    configs: Iterable[Config], profile: str, folder: Path | None = None
) -> dict[Config, Path]:
    """The file of each run: in `folder`, or among those of the study."""
    folder, configs = folder or study_folder() / "data" / "runs" / profile, [*configs]
    names = zip(configs, run_ids(configs), strict=True)
    return {config: folder / f"{name}.json" for config, name in names}


def run_file(config: Config, profile: str, folder: Path | None = None) -> Path:
    """The file of one run, see `run_files`."""
    return run_files([config], profile, folder)[config]


def read_whole(path: Path) -> dict | None:
    """The record of a run file, or None. The log names a damaged file, once."""
    try:
        return read_run(path)
    except InputError as damage:
        if path.exists():
            sources.warn_once(str(damage))
        return None


def write_run(path: Path, record: dict) -> None:
    """Writes the record with its id and its digest, one line per key, atomically.

    Raises InputError, with the file's name, where it cannot be written.
    """
    whole = finite({"id": path.stem, "defaults": DEFAULTS, **record})
    usual, given = defaults().items(), whole["config"].items()
    whole["config"] = dict(field for field in given if field not in usual)
    whole["digest"] = digest(whole)
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in whole.items())
    text = "{" + ",\n ".join(lines) + "}\n"
    try:
        write_atomically(path, text)
    except OSError as cause:
        raise InputError(f"{path} cannot be written: {cause.strerror}.") from cause


@cache
def defaults() -> dict:
    """The defaults of Config, as a run file has them."""
    return finite(asdict(Config()))


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
        if (number := record.pop("defaults")) != DEFAULTS:
            raise ValueError(f"other code has written it (defaults {number})")
        record["config"] = defaults() | record["config"]
        return record
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError) as why:
        damage = f"run file {path.name} is damaged: {why}"
        raise InputError(f"{damage}; move it away to run it again.") from None


def digest(record: dict) -> str:
    """Sixteen digits that change with any value of the record."""
    return sources.digest(json.dumps(record, sort_keys=True))


def finite(value):
    """The value with None for NaN and infinities, which strict JSON does not have."""
    return json.loads(json.dumps(value), parse_constant=lambda _: None)
