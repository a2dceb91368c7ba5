"""What every section of the study runs, and what it was expected to show.

A grid names its points, the paper's table beside which its results stand, and the claims with
their rules. Rules are committed before the runs that they judge.
"""

from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import pandas as pd

from .claims import Claim
from .config import Config, choose
from .files import STUDY
from .profiles import configure
from .rules import Best, Better, Equivalent

# Seeds of every point. Five is the least for which a verdict is given; quick gives none.
SEEDS = MappingProxyType({
    "smoke": range(1), "quick": range(2), "tiny": range(5), "mini": range(5),
    "base": range(5), "large": range(5), "roberta-base": range(5),
})  # fmt: skip
RELEVANT = 0.5  # points; a smaller difference of averages is of no practical interest


@dataclass(frozen=True)
class Point:
    """One setting: a label for tables and figures, and the fields that make it."""

    label: str
    fields: dict[str, Any]
    preset: str = "study"
    paper: str | None = None  # its name in the paper's table; None: the label


@dataclass(frozen=True)
class Grid:
    """The runs of a section."""

    question: str
    points: tuple[Point, ...]
    paper: str | None = None  # a file of data/paper, without .csv
    paper_by: tuple[str, ...] = ()  # its columns that name a point
    claims: tuple[Claim, ...] = ()
    notebook: str = ""
    common: dict[str, Any] = field(default_factory=dict)  # fields of all points

    def config(self, point: Point, profile: str, seed: int) -> Config:
        return configure(profile, point.preset, **{**self.common, **point.fields, "seed": seed})

    def configs(self, profile: str, seeds=None, labels=None) -> list[Config]:
        """All runs, seed by seed, so that an interrupted grid has whole seeds first."""
        return [
            self.config(point, profile, seed)
            for seed in choose_seeds(profile, seeds)
            for point in self.points
            if labels is None or point.label in labels
        ]

    def labels(self, profile: str, seeds=None) -> pd.Series:
        """Label of every run of `configs`, in its order."""
        return pd.Series([p.label for _ in choose_seeds(profile, seeds) for p in self.points])

    def table(self, profile: str) -> pd.DataFrame:
        """The points, with the fields in which they differ and the traceable distance."""
        configs = [self.config(p, profile, 0) for p in self.points]
        names = dict.fromkeys(name for p in self.points for name in p.fields)
        rows = [{name: getattr(c, name) for name in names} for c in configs]
        frame = pd.DataFrame(rows, index=pd.Index([p.label for p in self.points], name="point"))
        frame["traceable distance"] = [round(c.traceable_distance, 2) for c in configs]
        return frame


def choose_seeds(profile: str, seeds) -> range | list[int]:
    return choose(SEEDS, profile, "profile") if seeds is None else list(seeds)


@cache
def paper_table(name: str) -> pd.DataFrame:
    """A table of the papers (data/paper/<name>.csv): point columns as text, metric, value."""
    path = STUDY / "data" / "paper" / f"{name}.csv"
    text = {"value": float}
    frame = pd.read_csv(path, keep_default_na=False, dtype=str)
    return frame.astype(text)


def constant(decay: float) -> Point:
    return Point(f"{decay:g}", {"ema_decay": decay, "ema_schedule": "constant"})


def cosine(start: float, end: float, horizon: int | None = None) -> Point:
    label = f"{start:g}→{end:g}" + (f" in {horizon:,}" if horizon else "")
    return Point(label, {
        "ema_decay": start, "ema_decay_end": end, "ema_schedule": "cosine", "ema_horizon": horizon,
    })  # fmt: skip


DECAYS = (0.0, 0.5, 0.8, 0.85, 0.9, 0.95, 0.99)
_STEADY = {"ema_schedule": "constant"}
_EMA_CLAIMS = (
    Claim(
        "ema-085-best", "MoCoSE Table 3", "No other constant decay beats 0.85 by a relevant margin.",
        Best({"ema_decay": 0.85, **_STEADY},
             [{"ema_decay": d, **_STEADY} for d in DECAYS[1:] if d != 0.85], margin=-RELEVANT),
    ),
    Claim(
        "ema-085-over-099", "MoCoSE Table 3, section 5.1",
        "A decay of 0.85 beats 0.99, the usual choice for images.",
        Better({"ema_decay": 0.85, **_STEADY}, {"ema_decay": 0.99, **_STEADY}),
    ),
    Claim(
        "ema-needed", "MoCoSE section 3",
        "Without averaging (decay 0) training does worse than with 0.85.",
        Better({"ema_decay": 0.85, **_STEADY}, {"ema_decay": 0.0, **_STEADY}, margin=RELEVANT),
    ),
    Claim(
        "ema-schedule", "MoCoSE section 4.1",
        "Raising the decay from 0.75 to 0.95 makes no relevant difference to a constant 0.85.",
        Equivalent(
            {"ema_decay": 0.75, "ema_decay_end": 0.95, "ema_schedule": "cosine"},
            {"ema_decay": 0.85, **_STEADY}, margin=RELEVANT),
    ),
)  # fmt: skip

START = (
    Point("untrained [CLS]", {"method": "untrained", "pooling": "cls"}),
    Point("untrained mean", {"method": "untrained", "pooling": "mean"}),
    Point("untrained first-last", {"method": "untrained", "pooling": "first_last"},
          paper="first_last, bert-base-uncased"),
    Point("SimCSE", {"method": "simcse"}, paper="simcse, bert-base-uncased"),
    Point("MoCoSE", {}, paper="mocose, bert-base-uncased"),
    Point("MoCoSE as described", {}, preset="as_described"),
    Point("MoCoSE as published", {}, preset="as_published"),
)
MOCOSE = {"method": "mocose", "similarity": "cosine", "batch_negatives": False}  # study's default
TRANSFERRED = ("untrained [CLS]", "untrained mean", "SimCSE", "MoCoSE")

GRIDS = MappingProxyType({
    "ema": Grid(
        question="How fast should the target branch follow the online branch?",
        points=(
            *map(constant, DECAYS),
            cosine(0.75, 0.95), cosine(0.85, 1.0), cosine(0.75, 1.0, horizon=15_000),
        ),
        paper="mocose_table3", paper_by=("ema_decay",), claims=_EMA_CLAIMS, notebook="04_ema",
    ),
    "start": Grid(
        question="What does the encoder know before and after training?",
        points=START, paper="mocose_table1", paper_by=("system", "encoder"), notebook="00_start_here",
        claims=(
            Claim("start-gain", "MoCoSE Table 1",
                  "MoCoSE beats the untrained encoder's first-last average.",
                  Better(MOCOSE, {"method": "untrained", "pooling": "first_last"},
                         margin=RELEVANT)),
            Claim("start-over-simcse", "MoCoSE Table 1", "MoCoSE beats SimCSE.",
                  Better(MOCOSE, {"method": "simcse"})),
        ),
    ),
    "geometry": Grid(
        question="Does MoCoSE spread embeddings over more directions?",
        points=START, notebook="10_geometry",
        claims=(
            Claim("spectrum-over-untrained", "MoCoSE Figure 7",
                  "MoCoSE's singular values fall more slowly than the untrained encoder's.",
                  Better(MOCOSE, {"method": "untrained", "pooling": "cls"}),
                  metric="effective_rank dev"),
            Claim("spectrum-over-simcse", "MoCoSE Figure 7",
                  "MoCoSE's singular values fall more slowly than SimCSE's.",
                  Better(MOCOSE, {"method": "simcse"}), metric="effective_rank dev"),
        ),
    ),
    "transfer": Grid(
        question="Do frozen embeddings serve other tasks?",
        points=tuple(p for p in START if p.label in TRANSFERRED), common={"transfer": True},
        notebook="03_transfer",
        claims=(
            Claim("transfer-on-par", "MoCoSE section 4.2",
                  "MoCoSE is on a par with SimCSE on the transfer tasks.",
                  Equivalent(MOCOSE, {"method": "simcse"}, margin=RELEVANT), metric="transfer_avg"),
        ),
    ),
    "selection": Grid(
        question="What is it worth to choose the checkpoint on the test sets?",
        points=(
            Point("dev split", {"selection": "dev"}),
            Point("test sets", {"selection": "test"}),
            Point("last step", {"selection": "last"}),
        ),
        notebook="11_selection_bias",
        claims=(
            Claim("selection-inflates", "published code",
                  "Choosing the checkpoint on the test sets raises the reported average.",
                  Better({"selection": "test"}, {"selection": "dev"})),
            Claim("selection-matters", "published code",
                  "It raises the average by a relevant margin.",
                  Better({"selection": "test"}, {"selection": "dev"}, margin=RELEVANT)),
            Claim("selection-dev-helps", "MoCoSE section 4.1",
                  "Choosing on the dev split beats keeping the last step.",
                  Better({"selection": "dev"}, {"selection": "last"})),
        ),
    ),
})  # fmt: skip
