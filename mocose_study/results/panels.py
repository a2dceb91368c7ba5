"""What one or two notebooks ask of a section beside its table, figure and verdicts."""

import json

import pandas as pd
from matplotlib.figure import Figure

from mocose_study import systems
from mocose_study.config import Config, configure, vary
from mocose_study.data.files import shipped
from mocose_study.sections.section import Section
from mocose_study.systems.base import Fitted

from . import plots, tables
from .tables import METRIC

BEST_DECAY = 0.85  # the paper's; with queue 512 and batch 64 it has the best distance


class Panels:
    """Further methods of an opened section."""

    section: Section
    profile: str
    seeds: list[int] | None
    runs: pd.DataFrame

    def scores(self, metric: str = METRIC, stem: str = "") -> Figure | None:
        """A row a point: its seeds and their mean; saved with its table."""
        if not len(runs := self.runs):
            return None
        labels = list(runs["label"].drop_duplicates())
        figure = plots.scores(runs, labels, metric)
        table = tables.summary(runs, metric).set_index("label")
        plots.save(figure, table, self.profile, stem or f"{self.section.name}_scores")
        return figure

    def over_distance(
        self, y: str = METRIC, ylabel: str = plots.POINTS
    ) -> Figure | None:
        """Every run over its traceable distance (MoCoSE eq. 4); saved with its table."""
        runs = self.runs
        if not len(runs) or y not in runs:
            return None
        best = Config(ema_decay=BEST_DECAY).traceable_distance
        figure = plots.over_distance(runs, y, ylabel, best)
        table = runs[["label", "seed", "distance", y]].set_index("label")
        stem = f"{self.section.notebook[:2]}_{self.section.name}_{y.replace(' ', '_')}"
        plots.save(figure, table, self.profile, stem)
        return figure

    def staleness(self) -> pd.DataFrame:
        """How old the queue's keys are in the runs, see `tables.staleness`."""
        table = tables.staleness(self.section, self.profile, self.seeds)
        return table.apply(tables.aligned)

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

    def trained(self, label: str, **changes) -> Fitted:
        """Trains a point with its first seed, here and now; its `encode` makes vectors."""
        config = self.section.config(label, self.profile, 0)
        return systems.fit(vary(config, **changes))

    @staticmethod
    def pretraining() -> pd.DataFrame:
        """The loss of masked words while the study's encoders were made: a row a point."""
        rows = []
        for path in sorted(shipped("encoders").glob("*/pretraining.json")):
            record = json.loads(path.read_text("utf-8"))
            shape = {name: record["config"][name] for name in ("layers", "hidden_size")}
            for point in record["curve"]:
                rows.append({"encoder": path.parent.name, **shape, **point})
        return pd.DataFrame(rows)
