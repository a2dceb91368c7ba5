"""An opened section: its runs as tables and figures, and its verdicts.

A figure is saved with its table, see `plots.save`. Without runs there is none.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import wraps

import pandas as pd
from IPython.display import HTML, Markdown
from matplotlib.figure import Figure

from mocose_study import systems
from mocose_study.config import PROFILES, Config, configure, vary
from mocose_study.data.files import shipped
from mocose_study.runs.files import read_run, run_file
from mocose_study.runs.run import make_run, prepare, run_grid
from mocose_study.sections import SECTIONS
from mocose_study.sections.section import Section
from mocose_study.systems.base import Fitted

from . import ledger, plots, tables
from .tables import METRIC
from .watch import DEV, drawn_while_it_trains

BEST_DECAY = 0.85  # the paper's; with queue 512 and batch 64 it has the best distance
TRIED = "quick"  # the profile of the cell "Try it"


def saved(draw: Callable) -> Callable:
    """Saves what a method draws: from the runs a figure, its table and a name.

    `stem` is the whole name of the files, in place of number, section and name.
    """

    @wraps(draw)
    def drawn(self, *asked, stem: str = "", **options) -> Figure | None:
        if not len(runs := self.runs):
            return None
        if (made := draw(self, runs, *asked, **options)) is None:
            return None
        figure, table, part = made
        parts = (self.section.notebook[:2], self.section.name, part)
        plots.save(figure, table, self.profile, stem or "_".join(filter(None, parts)))
        return figure

    return drawn


class Opened:
    """A section at a profile, with some seeds or those of the profile."""

    def __init__(self, section: Section, profile: str, seeds=None):
        self.section, self.profile, self.seeds = section, profile, seeds
        self.asked = (section, profile, seeds)

    @property
    def runs(self) -> pd.DataFrame:
        """A row a run that is done, see `tables.table_of`."""
        return tables.table_of(*self.asked)

    def missing(self) -> list[Config]:
        """What its missing runs are made of."""
        runs = tables.looked_up(*self.asked)
        return [config for _, config, record in runs if not record]

    def make(self) -> None:
        """Makes the missing runs: the study's own in data/runs, others in runs/."""
        ours = set(SECTIONS[self.section.name].configs(self.profile, self.seeds))
        missing = self.missing()
        run_grid([c for c in missing if c in ours], self.profile)
        own = [c for c in missing if c not in ours]
        run_grid(own, self.profile, folder=tables.own_folder(self.profile))

    def table(self, metric: str = METRIC, places: int = 2) -> pd.DataFrame:
        """Ours beside the paper's, a row a point."""
        table = tables.beside_paper(self.section, self.runs, metric)
        return table.apply(tables.aligned, places=places)

    def by_task(self) -> pd.DataFrame:
        """Each test task, a row a point."""
        return tables.by_task(self.section, self.runs).apply(tables.aligned)

    def staleness(self) -> pd.DataFrame:
        """How old the queue's keys are in the runs, see `tables.staleness`."""
        return tables.staleness(*self.asked).apply(tables.aligned)

    def choice(self) -> pd.DataFrame:
        """What dev's choice of a checkpoint adds to the last step, in points, by point.

        Without systems that are not trained, and those chosen in another way.
        """
        names = ("label", "selection", "best_step", METRIC, tables.LAST)
        runs = self.runs.reindex(columns=names)
        runs = runs[runs["selection"].eq("dev") & runs["best_step"].gt(0)]
        gains = runs.assign(gain=runs[METRIC] - runs[tables.LAST])
        return tables.summary(gains, "gain").set_index("label").apply(tables.aligned)

    def settings(self) -> pd.DataFrame:
        """The fields in which the base of this profile is not the paper's."""
        authors = {"fgsm_epsilon": Config.fgsm_epsilon, "precision": Config.precision}
        ours, papers = vars(configure(self.profile)), vars(configure("base", **authors))
        differ = [name for name in ours if ours[name] != papers[name]]
        columns = {f"profile {self.profile}": ours, "the paper": papers}
        table = pd.DataFrame(columns, dtype=object).loc[differ].rename_axis("field")
        return table.map(lambda x: f"{x:g}" if isinstance(x, float) else x)

    @staticmethod
    def pretraining() -> pd.DataFrame:
        """Losses of masked words while the study's encoders were made."""
        rows = []
        for path in sorted(shipped("encoders").glob("*/pretraining.json")):
            record = json.loads(path.read_text("utf-8"))
            shape = {name: record["config"][name] for name in ("layers", "hidden_size")}
            for point in record["curve"]:
                rows.append({"encoder": path.parent.name, **shape, **point})
        return pd.DataFrame(rows)

    @saved
    def figure(self, runs: pd.DataFrame, reference: str = "", metric: str = METRIC):
        """Differences from a point (default: the paper's best), ours and the paper's."""
        table = tables.beside_paper(self.section, runs, metric)
        rows = self.rows_of_a_figure(list(table.index), reference, metric)
        return plots.beside_paper(runs, *rows, metric), table, ""

    def rows_of_a_figure(
        self, labels: list[str], reference: str, metric: str = METRIC
    ) -> tuple[list[str], dict[str, float], str]:
        """Of a figure: its rows, the paper's numbers, and the point to differ from.

        The paper's points have rows without our runs, too, so that own numbers stand
        beside them.
        """
        paper = tables.paper_of(SECTIONS[self.section.name], metric)
        paper = paper | tables.paper_of(self.section, metric)
        if reference not in labels:
            known = [label for label in labels if label in paper]
            reference = max(known, key=paper.get, default=labels[0])
        more = [x for x in paper if x not in labels] if reference in paper else []
        return sorted([*labels, *more], key=_number), paper, reference

    @saved
    def scores(self, runs: pd.DataFrame, metric: str = METRIC):
        """A row a point: its seeds and their mean."""
        table = tables.summary(runs, metric).set_index("label")
        return plots.scores(runs, list(table.index), metric), table, "scores"

    @saved
    def over_distance(self, runs: pd.DataFrame, y: str = METRIC, ylabel=plots.POINTS):
        """Every run over its traceable distance (MoCoSE eq. 4)."""
        best = Config(ema_decay=BEST_DECAY).traceable_distance
        figure = plots.over_distance(runs, y, ylabel, best)
        table = runs[["label", "seed", "distance", y]].set_index("label")
        return figure, table, y.replace(" ", "_")

    @saved
    def curves(self, _, y: str = "score", ylabel: str = DEV, part="history", **axes):
        """The training's curves; `part` "trajectory" has those of the geometry."""
        table = tables.curves(*self.asked, part)
        if y not in table:  # nothing of it was trained
            return None
        return plots.curves(table, y, ylabel, **axes), table, f"{y}_curves"

    @saved
    def align_uniform(self, runs: pd.DataFrame):
        """Every run at its uniformity and alignment on the dev split."""
        table = runs.groupby("label", sort=False)[list(tables.SHAPE)].mean()
        return plots.align_uniform(runs, list(table.index)), table, "align_uniform"

    @saved
    def spectra(self, _):
        """Singular values of the dev split's vectors, over the largest."""
        values: dict[str, list] = {}
        for label, record in tables.records(*self.asked):
            values.setdefault(label, []).append(record["spectrum"])
        means = {label: pd.DataFrame(own).mean() for label, own in values.items()}
        return plots.spectra(values), pd.DataFrame(means), "spectra"

    @saved
    def matrix(self, runs: pd.DataFrame, metric: str = METRIC, rows="", columns=""):
        """Labels "row, column" as a table of colours, ours beside the paper's."""
        means = tables.summary(runs, metric).set_index("label")["mean"]
        paper = tables.paper_of(self.section, metric)
        theirs = tables.unstacked(pd.Series(paper), self.section) if paper else None
        values = tables.unstacked(means, self.section)
        values = values.rename_axis(index=rows, columns=columns)
        figure = plots.matrix(values, theirs, f"ours, profile {self.profile}")
        return figure, values, "matrix" if metric == METRIC else f"{metric}_matrix"

    def verdicts(self, *others: "Opened") -> HTML | Markdown:
        """What the runs say to each claim, of other sections too."""
        if PROFILES[self.profile].seeds < 5:
            told = "has one seed a point, so it gives no verdicts."
            return Markdown(f"Profile {self.profile} {told}")
        parts = [ledger.of_section(*opened.asked) for opened in (self, *others)]
        table = pd.concat(parts, ignore_index=True)
        return ledger.as_html(table, f"{self.section.name}_{self.profile}")

    def trained(self, label: str, **changes) -> Fitted:
        """Trains a point with seed 0, here and now; its `encode` makes vectors."""
        config = self.section.config(label, self.profile, 0)
        return systems.fit(vary(config, **changes))

    def try_it(self, fields: Mapping, reference: str = "") -> Figure | None:
        """Trains one more point at profile quick, and draws it into the figure.

        fields: those of Settings or Config in which it differs from the base. {}: none.
        """
        if not fields:
            return print("mine = {} trains nothing.")
        label = ", ".join(f"{name} {value}" for name, value in fields.items())
        more = self.section.with_point(label, **fields)
        labels = list(self.table().index) or list(self.section.points)
        rows = self.rows_of_a_figure(labels, reference)
        reference = rows[-1]
        mine = {name: more.config(name, TRIED, 0) for name in (reference, label)}
        # data of the transfer tasks are not in the repository
        mine = {name: vary(config, transfer=False) for name, config in mine.items()}
        prepare(list(mine.values()))
        score = {}
        for name, config in mine.items():
            path = run_file(config, TRIED, tables.own_folder(TRIED))
            with drawn_while_it_trains(name):
                make_run(config, path, bar=True)
            score[name] = read_run(path)["metrics"][METRIC]
        told = ", ".join(f"{name}: {value:.1f}" for name, value in score.items())
        print(f"{told} (profile {TRIED})")
        own = {f"yours: {label}": score[label] - score[reference]}
        if not len(self.runs):
            return None
        return plots.beside_paper(self.runs, *rows, METRIC, own)


def _number(label: str) -> float:
    """Sorts labels that are numbers, behind those that are not."""
    return float(label) if label.replace(".", "", 1).isdigit() else -math.inf
