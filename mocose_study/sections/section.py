"""What a section is: a question, the points that answer it, and their runs.

A section is a function of the numbers that it varies, with the paper's numbers as
defaults. It returns its points; `section` makes a `Section` of them.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from itertools import product
from typing import Any

import pandas as pd

from mocose_study.config import PROFILES, Config, InputError, choose, configure, known
from mocose_study.data.files import shipped
from mocose_study.systems import draws

PAPERS_WIDTH = 768  # of BERT-base; widths of points are the paper's, and scale with it
ABOUT = ("preset", "paper", "cell", "at_pace", "best")  # beside fields of a Config
SMALL = ("smoke", "quick")  # profiles that run few points

Points = Mapping[str, Mapping[str, Any]]
FUNCTIONS: dict[str, Callable] = {}  # every one that `section` has made, by its name


@dataclass(frozen=True)
class Section:
    """The points of a section by label, and what they share.

    A point has the fields in which it differs from the base. It may also have `preset`;
    `paper`, its name in the paper's table where that is not its label; `cell`, its row
    and column in a table; and `best` or `at_pace`, the system whose best rate and
    length, or best rate alone, it takes.
    """

    name: str
    question: str
    notebook: str
    points: Points
    paper: str | None = None  # a table of data/paper
    common: Mapping[str, Any] = field(default_factory=dict)  # fields of all points
    length: float | None = None  # as a multiple of the profile's steps
    seeds: Sequence[int] = ()  # at tiny, in place of the profile's
    small: Sequence[str] | None = None  # the points at `SMALL` profiles; None: all
    hub: Sequence[str] = ()  # points that need a model of the hub

    def config(self, label: str, profile: str, seed: int) -> Config:
        """The Config of a run. Raises InputError for impossible fields."""
        size = choose(PROFILES, profile, "profile")
        point = choose(self.points, label, f"point of section {self.name}")
        point = {**self.common, **point}
        fields = {name: x for name, x in point.items() if name not in ABOUT}
        searched = size.at_pace.get(point.get("at_pace"), {})
        searched = searched | size.best.get(point.get("best"), {})
        asked, dim = fields.get("corpus_size", 0), fields.get("predictor_dim")
        whole = size.fields.get("corpus_size", 0)
        if profile in SMALL and isinstance(asked, int) and asked > whole:
            del fields["corpus_size"]  # the embedded text is shorter
        if isinstance(dim, int) and dim > 0:  # the Config refuses others
            fields["predictor_dim"] = max(2, round(dim * size.width / PAPERS_WIDTH))
        if self.length:
            searched = searched | {"steps": round(self.length * size.fields["steps"])}
        preset = point.get("preset", "study")
        return configure(profile, preset, **{**searched, **fields}, seed=seed)

    def labels(self, profile: str) -> list[str]:
        """The points that a profile runs."""
        if profile in SMALL and self.small is not None:
            return [label for label in self.points if label in self.small]
        encoder = choose(PROFILES, profile, "profile").fields.get("encoder", "tiny")
        left_out = () if "/" in encoder else self.hub
        return [label for label in self.points if label not in left_out]

    def seeds_at(self, profile: str) -> list[int]:
        """The section's own, all of them at tiny; other profiles have a number."""
        own = choose(PROFILES, profile, "profile").seeds
        seeds = list(self.seeds or range(own))
        return seeds if profile == "tiny" else seeds[:own]

    def runs(self, profile: str, seeds=None) -> list[tuple[str, Config]]:
        """Label and Config of all runs, seed by seed, so that a part of them is of use.

        What draws nothing runs with the first seed alone. Raises InputError for seeds
        that are no list of numbers.
        """
        seeds = self.seeds_at(profile) if seeds is None else seeds
        listed = isinstance(seeds, list | tuple | range) and len(seeds) > 0
        if not listed or any(type(seed) is not int for seed in seeds):
            raise InputError(
                f"seeds = {seeds!r} is not possible; give None, or [0, 1]."
            )
        seeds = list(dict.fromkeys(seeds))
        points = product(seeds, self.labels(profile))
        runs = [(label, self.config(label, profile, seed)) for seed, label in points]
        return [(x, c) for x, c in runs if c.seed == seeds[0] or draws(c)]

    def configs(self, profile: str, seeds=None) -> list[Config]:
        return [config for _, config in self.runs(profile, seeds)]

    def changed(self, fields: Mapping[str, Any]) -> "Section":
        """The same section with fields changed in all of its points.

        Raises InputError for no fields, and for those that its points set themselves.
        """
        fields, points = settings(fields), list(self.points.values())
        if own := [x for x in fields if any(x in point for point in points)]:
            what = f"changes: the points of {self.name} set {own[0]} themselves"
            raise InputError(f"{what}; leave it out.")
        return replace(self, common={**self.common, **fields})

    def with_point(self, label: str, fields: Mapping[str, Any]) -> "Section":
        """The same section with one more point, which all profiles run.

        Raises InputError for no fields.
        """
        points = {**self.points, label: settings(fields)}
        small = None if self.small is None else (*self.small, label)
        return replace(self, points=points, small=small)

    def paper_values(self, metric: str = "avg") -> dict[str, float]:
        """The paper's number of each point that its table has, by label."""
        if self.paper is None:
            return {}
        rows = paper_table(self.paper).query("metric == @metric").to_numpy()
        values = {", ".join(names): value for *names, _, value in rows}
        names = {x: point.get("paper", x) for x, point in self.points.items()}
        return {label: values[name] for label, name in names.items() if name in values}


def settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a Config. Raises InputError for what is none, and for the seed."""
    if not isinstance(fields, Mapping):
        raise InputError(f"{fields!r} has no settings; give them as {{'lr': 1e-4}}.")
    if "seed" in fields:
        raise InputError("the seed is no setting here; name seeds = [5] instead.")
    return known(fields)


def section(notebook: str, **about) -> Callable[[Callable[..., Points]], Callable]:
    """Makes a function that returns points one that returns a `Section`.

    Its docstring is the question. With other numbers than the defaults, small profiles
    run all of its points. Raises InputError for a parameter that it does not have, or
    that is no list.
    """

    def made(points: Callable[..., Points]) -> Callable[..., Section]:
        signature = inspect.signature(points)
        defaults = {p.name: p.default for p in signature.parameters.values()}

        @wraps(points)
        def called(**numbers) -> Section:
            for name, values in numbers.items():
                choose(defaults, name, f"parameter of section {points.__name__}")
                if not isinstance(values, list | tuple) or not values:
                    what = f"{name} = {values!r} is no list"
                    raise InputError(f"{what}; give one, as [1, 2].")
            given = defaults | {name: tuple(values) for name, values in numbers.items()}
            own = about if given == defaults else {**about, "small": None}
            question = " ".join(inspect.getdoc(points).split())
            try:
                made_of = points(**given)
            except (TypeError, ValueError) as cause:  # such as a word for a number
                what = f"section {points.__name__} has no points with {numbers}"
                raise InputError(f"{what}: {cause}.") from None
            return Section(points.__name__, question, notebook, made_of, **own)

        FUNCTIONS[points.__name__] = called
        return called

    return made


def short(number: float) -> str:
    """The number in six digits where these give it back, else in all of its own."""
    text = f"{number:g}"
    return text if float(text) == number else repr(number)


def crossed(**values: Sequence) -> Points:
    """A point for each combination of two fields' values, which are its label."""
    sides = []
    for name, own in values.items():
        labels = [short(x) if isinstance(x, float) else f"{x}" for x in own]
        sides.append({x: {name: value} for x, value in zip(labels, own, strict=True)})
    return cells(*sides)


def cells(rows: Points, columns: Points) -> Points:
    """A point for each cell of a table, with the fields of its row and its column."""
    both = product(rows.items(), columns.items())
    return {f"{r}, {c}": {**x, **y, "cell": (r, c)} for (r, x), (c, y) in both}


@cache
def paper_table(name: str) -> pd.DataFrame:
    """A table of the papers, data/paper/<name>.csv: names of a point, metric, value."""
    path = shipped("paper") / f"{name}.csv"
    return pd.read_csv(path, keep_default_na=False, dtype=str).astype({"value": float})
