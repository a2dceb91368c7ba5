"""Reads the sections from the TOML files beside this one.

A section is a table [NAME] with its question and notebook; with a `stage` it takes the fields that
the profile has for that stage. `starts` is the label of the point that all others started from, or
a table of such labels, see `claims/verdicts.py`. Its points are the table [NAME.points]: a label,
and the fields of a Config in which the point differs from the profile. A point may also have
`preset`, `paper`, `tier` and `scale`, see `grid.Point`, and `like`: the label of a point before it,
or of `shared.toml`, whose fields, preset and scale it takes; "shared" stands for that whole point.

[NAME.each] holds settings by name. A label with {} is a point for each of them: its name takes
the place of {}, and its fields join those of the point.
"""

from collections.abc import Iterable, Mapping

from mocose_study.config import PROFILES, InputError, choose, read_toml
from mocose_study.config.config import check_names, tuples

from . import claims as rules
from .grid import Grid, Point

ABOUT = ("preset", "paper", "tier")  # what a point has beside fields of a Config
KEYS = dict.fromkeys(  # of a section
    "question notebook paper seeds own_seeds stage common starts each points".split()
)


def read_all(names: Iterable[str]) -> dict[str, Grid]:
    """The sections of these files, by name.

    Raises InputError, with the place, for whatever a file or `claims.csv` names and nothing has.
    """
    shared = {
        p.label: p for p in _points({"points": read_toml(__package__, "shared")}, {})
    }
    files = (read_toml(__package__, name) for name in names)
    tables = {name: table for file in files for name, table in file.items()}
    if unknown := [
        name for name in rules.rows()["section"].unique() if name not in tables
    ]:
        raise InputError(f"claims.csv: there is no section {unknown[0]!r}")
    return {name: _section(name, table, shared) for name, table in tables.items()}


def _section(name: str, table: dict, shared: Mapping[str, Point]) -> Grid:
    try:
        for key in table:
            choose(KEYS, key, "key of a section")
        if "stage" in table:
            choose(
                PROFILES["tiny"].stages, table["stage"], "stage"
            )  # tiny has all of them
        if missing := [key for key in ("question", "points") if key not in table]:
            raise InputError(f"its {missing[0]} is missing")
        points = _points(table, shared)
    except InputError as cause:
        raise InputError(f"section {name}: {cause}") from None
    control, claims = rules.judging(name, {point.label for point in points})
    about = {key: tuples(value) for key, value in table.items() if key != "each"}
    if isinstance(start := about.get("starts"), str):
        about["starts"] = {p.label: start for p in points if p.label != start}
    return Grid(**about | {"points": points, "control": control, "claims": claims})


def _points(table: dict, shared: Mapping[str, Point]) -> tuple[Point, ...]:
    """Those of `each` first, then those that are written out."""
    written = {
        label.replace("{}", name): own | more
        for name, more in table.get("each", {}).items()
        for label, own in table["points"].items()
        if "{}" in label
    }
    written |= {
        label: own for label, own in table["points"].items() if "{}" not in label
    }
    found = {}
    for label, own in written.items():
        if own == "shared":
            found[label] = choose(shared, label, "shared point")
        else:
            found[label] = _point(label, own, {**shared, **found})
    return tuple(found.values())


def _point(label: str, table: dict, others: Mapping[str, Point]) -> Point:
    if not isinstance(table, dict):
        raise InputError(
            f'point {label!r} is {table!r}; give a table of fields, or "shared"'
        )
    scale = table.get("scale", {})
    numbers = isinstance(scale, dict) and all(
        isinstance(x, int | float) for x in scale.values()
    )
    if table.get("tier", 1) not in (1, 2, 3) or not numbers or "seed" in table:
        raise InputError(
            f"point {label!r}: tier is 1, 2 or 3, scale has numbers, seed is no field"
        )
    like = table.get("like")
    other = choose(others, like, "point") if like else Point(label, {})
    own = {key: tuples(value) for key, value in table.items()}
    about = {"preset": other.preset} | {
        key: own.pop(key) for key in ABOUT if key in own
    }
    scale = other.scale | own.pop("scale", {})
    own.pop("like", None)
    check_names([*own, *scale])
    return Point(label, other.fields | own, scale=scale, like=like, **about)
