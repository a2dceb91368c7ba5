"""An opened section: its runs as tables and figures, and its verdicts.

A figure is saved with its table, see `saved.saved`. Without runs there is none.
"""

import json
import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown, clear_output, display
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from mocose_lib.ema import decay_at
from mocose_study import systems
from mocose_study.config import PROFILES, Config, configure, vary
from mocose_study.data.files import shipped
from mocose_study.runs.files import read_run, run_file
from mocose_study.runs.run import make_run, prepare, run_grid
from mocose_study.sections import SECTIONS
from mocose_study.sections.section import Section, settings
from mocose_study.systems.base import Fitted

from . import ledger, plots, tables
from .tables import METRIC

TRIED = "quick"  # the profile of the cell "Try it"


class Opened:
    """A section at a profile, with some seeds or those of the profile."""

    figure, curves, matrix = plots.differences, plots.curves_of, plots.matrix
    align_uniform, spectra = plots.align_uniform, plots.spectra
    over_distance = plots.over_distance

    def __init__(self, section: Section, profile: str, seeds=None):
        self.section, self.profile, self.seeds = self.asked = section, profile, seeds

    def own(self, part: bool) -> bool:
        """Whether seeds, changes or points (`part`: fewer, too) are not the study's."""
        study = SECTIONS[self.section.name]
        ours, whole = self.section.points.keys(), study.points.keys()
        other = ours != whole if part else ours - whole
        return bool(self.seeds or other or self.section.common != study.common)

    @property
    def runs(self) -> pd.DataFrame:
        """One row per finished run, see `tables.table_of`."""
        return tables.table_of(*self.asked)

    def missing(self) -> list[Config]:
        """The Configs of its missing runs."""
        return [c for _, c, record in tables.looked_up(*self.asked) if not record]

    def make(self) -> None:
        """Makes the missing runs: the study's own in data/runs, others in runs/."""
        ours = set(SECTIONS[self.section.name].configs(self.profile))
        missing = self.missing()
        run_grid([c for c in missing if c in ours], self.profile)
        own = [c for c in missing if c not in ours]
        run_grid(own, self.profile, folder=tables.own_folder(self.profile))

    def table(self, metric: str = METRIC, places: int = 2) -> pd.DataFrame:
        """Ours beside the paper's, one row per point."""
        table = tables.beside_paper(self.section, self.runs, metric)
        return table.apply(tables.aligned, places=places)

    def by_task(self) -> pd.DataFrame:
        """One row per system: the mean of each test task, and columns of `table`."""
        runs = self.runs
        scores = runs.groupby("label")[[x for x in runs if x in tables.TASKS]]
        means = scores.mean().rename(columns=tables.TASKS)
        whole = tables.beside_paper(self.section, runs)
        kept = [column for column in whole if "centred" not in column]
        whole = whole[kept].rename(columns={"mean": "average"})
        trained = runs.reindex(columns=["label", "fixed", "lr", "steps"])
        trained = trained[trained["fixed"].eq(False)].groupby("label").first()
        whole = whole.join(trained[["steps", "lr"]].map("{:g}".format))
        return means.reindex(whole.index).join(whole).apply(tables.aligned)

    def staleness(self) -> pd.DataFrame:
        """The age of the queue in each point's runs, mean over seeds, in steps.

        Equation 4, at the mean decay, beside its value after a quarter, a half and
        three quarters of the training, at the decay of that step and with the keys'
        age as measured. And the share that the oldest keys retain after a half of it
        (`mocose_study.systems.staleness`).
        """
        shares = ("after 25 %", "after 50 %", "after 75 %")
        rows = []
        for label, config, record in tables.records(*self.asked):
            moments = record["progress"].get("staleness", ())
            if len(moments) == 3 and moments[1]["retained"]:
                decays = np.array([decay_at(x["step"], config) for x in moments])
                # a queued key counts by the share of it that is left
                left = np.array([np.dot(x["retained"], x["n"]) for x in moments])
                measured = 1 / (1 - decays) + left / config.batch_size
                expected, last = config.traceable_distance, moments[1]["retained"][-1]
                rows.append((label, expected, *measured, last))
        columns = ["point", "equation 4", *shares, "oldest retains"]
        table = pd.DataFrame(rows, columns=columns)
        return table.groupby("point", sort=False).mean().apply(tables.aligned)

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
        """The fields in which this profile differs from `base`, which has FGSM here."""
        authors = {"fgsm_epsilon": Config.fgsm_epsilon, "precision": Config.precision}
        ours, papers = vars(configure(self.profile)), vars(configure("base", **authors))
        differ = {x: (ours[x], papers[x]) for x in ours if ours[x] != papers[x]}
        columns = [f"profile {self.profile}", "profile base"]
        table = pd.DataFrame(differ, columns, dtype=object).T.rename_axis("field")
        return table.map(lambda x: f"{x:g}" if isinstance(x, float) else x)

    @staticmethod
    def pretraining() -> pd.DataFrame:
        """Losses of masked words while the study's encoders were made."""
        rows = []
        for path in sorted(shipped("encoders").glob("*/pretraining.json")):
            made = json.loads(path.read_text("utf-8"))
            about = {name: made["config"][name] for name in ("layers", "hidden_size")}
            rows += [{"encoder": path.parent.name, **about, **x} for x in made["curve"]]
        return pd.DataFrame(rows)

    def rows_of_a_figure(
        self, labels: list[str], reference: str, metric: str = METRIC
    ) -> tuple[list[str], dict[str, float], str]:
        """The rows of a figure, the paper's numbers, and the point of reference.

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

    def verdicts(self, *others: "Opened") -> HTML | Markdown:
        """The verdict on each claim of this section, and of `others`."""
        if PROFILES[self.profile].seeds < 5:
            return Markdown(f"Profile {self.profile} gives no verdicts: one seed.")
        parts = [ledger.of_section(*opened.asked) for opened in (self, *others)]
        table = pd.concat(parts, ignore_index=True)
        return ledger.as_html(table, f"{self.section.name}_{self.profile}")

    def trained(self, label: str, **changes) -> Fitted:
        """Trains a point with seed 0, here and now; its `encode` makes vectors."""
        config = self.section.config(label, self.profile, 0)
        return systems.fit(vary(config, **changes))

    def try_it(self, fields: Mapping, reference: str = "") -> Figure | None:
        """Trains one more point at profile quick, and draws it into the figure.

        fields: of Settings or Config, where it differs from the base; {} trains none.
        """
        if not fields:
            return print("mine = {} trains nothing.")
        label = ", ".join(f"{name} {value}" for name, value in settings(fields).items())
        more = self.section.with_point(label, fields)
        labels = list(self.table().index) or list(self.section.points)
        rows = self.rows_of_a_figure(labels, reference)
        reference, score = rows[-1], {}
        mine = {name: more.config(name, TRIED, 0) for name in (reference, label)}
        # both by the same pairs; those of the transfer tasks are not in the repository
        same = {"transfer": False, "benchmark": mine[label].benchmark}
        mine = {name: vary(config, **same) for name, config in mine.items()}
        prepare(list(mine.values()))
        for name, config in mine.items():
            path = run_file(config, TRIED, tables.own_folder(TRIED))
            with drawn_while_it_trains(name):
                make_run(config, path, bar=True)
            score[name] = read_run(path)["metrics"][METRIC]
        line = ", ".join(f"{name}: {value:.1f}" for name, value in score.items())
        print(f"{line} (profile {TRIED})")
        own = {f"yours: {label}": score[label] - score[reference]}
        runs = self.runs
        return plots.beside_paper(runs, *rows, METRIC, own) if len(runs) else None


def _number(label: str) -> float:
    """Sorts labels that are numbers, behind those that are not."""
    return float(label) if label.replace(".", "", 1).isdigit() else -math.inf


@contextmanager
def drawn_while_it_trains(run: str) -> Iterator[None]:
    """Draws the curve of a run: the trainer logs every evaluation."""
    rows, logger = [], logging.getLogger("mocose_lib.trainer")

    def draw(record: logging.LogRecord) -> bool:
        if isinstance(record.args, Mapping) and "score" in record.args:
            rows.append({"label": run, "seed": 0, **record.args})
            clear_output(wait=True)
            display(figure := plots.curves(pd.DataFrame(rows)))
            plt.close(figure)
        return True

    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addFilter(draw)
    try:
        yield
    finally:
        logger.removeFilter(draw)
        logger.setLevel(before)
