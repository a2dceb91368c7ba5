"""What a section of the study is made of: points, their runs, and the claims about them.

The sections themselves stand in the TOML files beside this one, their rules in `claims.csv`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd

from mocose_study.claims.effects import draws_nothing
from mocose_study.claims.rules import Rule
from mocose_study.claims.verdicts import Claim
from mocose_study.config import PROFILES, Config, choose, configure
from mocose_study.data.files import shipped

CONTROL, TOO_HIGH = "control: decay 0", "control: rate too high"  # labels of points

# beginnings of the names of fields that no other system has
MOCOSE_ALONE = (
    "ema_",
    "queue_",
    "fgsm_",
    "projection_",
    "predictor_",
    "detach_",
    "target_",
)


@dataclass(frozen=True)
class Point:
    """One setting: a label for tables and figures, and the fields that make it.

    scale: fields given as multiples of the profile's own value (of `predictor_dim` and
    `kept_dimensions`: of the encoder's width; of `ema_horizon`: of the steps), so that a point
    means the same everywhere.
    tier: 1, run at every profile, and first; 2, not at quick; 3, only beside large models.
    """

    label: str
    fields: dict[str, Any]
    preset: str = "study"
    paper: str | None = None  # its name in the paper's table; None: the label
    tier: int = 2
    scale: dict[str, float] = field(default_factory=dict)
    like: str | None = None  # the label of the point whose settings it starts from


@dataclass(frozen=True)
class Grid:
    """The runs of a section."""

    question: str
    points: tuple[Point, ...]
    paper: str | None = None  # a file of data/paper, without .csv
    claims: tuple[Claim, ...] = ()
    control: Rule | None = None  # a harm that must show here before any claim is judged
    starts: dict[str, str] = field(
        default_factory=dict
    )  # of rivals: the points they start from
    notebook: str = ""
    common: dict[str, Any] = field(default_factory=dict)  # fields of all points
    seeds: int = 0  # where a paper has more than the profile's own
    # instead of the profile's: of a search, or where nothing is drawn
    own_seeds: tuple[int, ...] = ()
    stage: str = ""  # which of the profile's stages, where it has it

    def fields_at(self, profile: str) -> dict[str, Any]:
        """The fields of all points at a profile."""
        size = choose(PROFILES, profile, "profile")
        return {**size.stages.get(self.stage, {}), **self.common}

    def config(self, point: Point, profile: str, seed: int) -> Config:
        common = self.fields_at(profile)
        base = configure(profile, point.preset, **common)
        scaled = {
            name: scaled_value(base, profile, name, x)
            for name, x in point.scale.items()
        }
        changes = {**common, **scaled, **point.fields, "seed": seed}
        return configure(profile, point.preset, **changes)

    def points_at(self, profile: str) -> list[Point]:
        return [
            p
            for p in self.points
            if p.tier <= choose(PROFILES, profile, "profile").tier
        ]

    def seeds_at(self, profile: str) -> Sequence[int]:
        """The seeds of every point, in the order in which they were added."""
        own = choose(PROFILES, profile, "profile").seeds
        return self.own_seeds or range(max(self.seeds, own) if own >= 5 else own)

    def runs(self, profile: str, seeds=None) -> list[tuple[Point, Config]]:
        """All runs: tier by tier and seed by seed, so that what was interrupted is of use."""
        seeds = self.seeds_at(profile) if seeds is None else seeds
        points = self.points_at(profile)
        made = [
            (point, self.config(point, profile, seed))
            for seed in seeds
            for point in points
        ]
        needed = [
            run
            for run in made
            if run[1].seed == seeds[0] or not draws_nothing(vars(run[1]))
        ]
        return sorted(needed, key=lambda run: run[0].tier)

    def configs(self, profile: str, seeds=None) -> list[Config]:
        return [config for _, config in self.runs(profile, seeds)]

    def table(self, profile: str) -> pd.DataFrame:
        """The points: fields in which they differ, and the traceable distance of constant decays."""
        points = self.points_at(profile)
        configs = [self.config(p, profile, 0) for p in points]
        names = dict.fromkeys(name for p in points for name in (*p.fields, *p.scale))
        rows = [{name: shown(config, name) for name in names} for config in configs]
        frame = pd.DataFrame(rows, [p.label for p in points]).rename_axis(
            columns="point"
        )
        told = [c.method == "mocose" and c.ema_schedule == "constant" for c in configs]
        reach = pd.Series([f"{c.traceable_distance:.2f}" for c in configs], frame.index)
        return frame.assign(**{"traceable distance": reach.where(told, "")})


def shown(config: Config, name: str) -> str:
    """A field for people: 1 for 1.0, and nothing where a system other than MoCoSE has no use for it."""
    if config.method != "mocose" and name.startswith(MOCOSE_ALONE):
        return ""
    value = getattr(config, name)
    return f"{value:g}" if isinstance(value, float) else str(value)


def scaled_value(base: Config, profile: str, name: str, factor: float) -> float:
    """A field as a multiple of the profile's value; a whole number stays one, and at least 1."""
    width = PROFILES[profile].width
    whole = {
        "predictor_dim": width,
        "kept_dimensions": width,
        "ema_horizon": base.steps,
    }
    value = whole.get(name, getattr(base, name))
    return factor * value if isinstance(value, float) else max(1, round(factor * value))


@cache
def paper_table(name: str) -> pd.DataFrame:
    """A table of the papers (data/paper/<name>.csv): what names a point, as text; metric; value."""
    path = shipped("paper") / f"{name}.csv"
    frame = pd.read_csv(path, keep_default_na=False, dtype=str)
    return frame.astype({"value": float})


def paper_numbers(name: str, metric: str) -> dict[str, float]:
    """A table's numbers of one metric, by what names the point, as in "simcse, bert-base-uncased"."""
    rows = paper_table(name).query("metric == @metric").itertuples(index=False)
    return {", ".join(names): value for *names, _, value in rows}
