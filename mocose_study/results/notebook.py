"""The three names of every section notebook: `open_section`, `answer`, `source`."""

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from textwrap import dedent

import pandas as pd
from IPython import get_ipython
from IPython.display import HTML, Markdown
from matplotlib.figure import Figure
from transformers.utils.logging import disable_progress_bar

from mocose_study.config import PROFILES, InputError, choose, vary
from mocose_study.runs.files import run_file
from mocose_study.runs.run import make_run, prepare, run_grid
from mocose_study.sections import FUNCTIONS, SECTIONS
from mocose_study.sections.section import Section

from . import ledger, plots, tables
from .panels import Panels
from .tables import METRIC
from .watch import DEV, Watch

disable_progress_bar()  # the bar of a loaded model is no result
EVIDENCE = "tiny"  # the profile that answers where another has no verdicts
TRIED = "quick"  # the profile of the cell "Try it"


def open_section(
    name: str,
    profile: str = EVIDENCE,
    seeds: Sequence[int] | None = None,
    changes: Mapping | None = None,
    run_missing: bool = False,
    **numbers,
) -> "Opened":
    """A section with numbers of one's own, and its runs.

    changes: fields for all of its points. Runs that are not of the study go to
    runs/<profile>. Raises InputError for a name or value that is not possible.
    """
    check_parameters()
    choose(PROFILES, profile, "profile")
    chosen = choose(FUNCTIONS, name, "section")(**numbers).changed(**(changes or {}))
    listed = isinstance(seeds, list | tuple) and len(seeds) > 0
    if seeds is not None and not (listed and all(type(s) is int for s in seeds)):
        raise InputError(f"seeds = {seeds!r} is not possible; give None, or [0, 1].")
    opened = Opened(chosen, profile, seeds)
    opened.make() if run_missing else opened.tell()
    return opened


def check_parameters() -> None:
    """Raises InputError for a name that papermill has set and the notebook does not have.

    Papermill puts its values into a cell of its own, behind the one with the defaults.
    """
    cells = getattr(get_ipython(), "user_ns", {}).get("In", [])
    for before, cell in pairwise(cells):
        if cell.startswith("# Parameters\n"):
            known = _assigned(before)
            for name in _assigned(cell):
                choose(dict.fromkeys(known), name, "parameter of this notebook")


def _assigned(cell: str) -> list[str]:
    targets = [n.targets[0] for n in ast.parse(cell).body if isinstance(n, ast.Assign)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


class Opened(Panels):
    """A section at a profile: its table, its figure, its verdicts, and one more point."""

    def __init__(self, section: Section, profile: str, seeds=None):
        self.section, self.profile, self.seeds = section, profile, seeds

    @property
    def runs(self) -> pd.DataFrame:
        """A row a run that is done, see `tables.table_of`."""
        return tables.table_of(self.section, self.profile, self.seeds)

    def labels(self) -> list[str]:
        there = set(self.runs["label"])
        return [label for label in self.section.points if label in there]

    def missing(self) -> list:
        runs = tables.looked_up(self.section, self.profile, self.seeds)
        return [config for _, config, record in runs if not record]

    def tell(self) -> None:
        missing = self.missing()
        if missing:
            total = len(self.section.configs(self.profile, self.seeds))
            print(
                f"{total - len(missing)} of {total} runs at profile {self.profile}; "
                "run_missing = True makes the others."
            )

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
        return tables.by_task(self.section, self.runs).apply(tables.aligned)

    def figure(
        self, reference: str = "", metric: str = METRIC, stem=""
    ) -> Figure | None:
        """Differences from a point, ours and the paper's; saved with its table.

        reference: a label; else the paper's best point, or the first.
        """
        runs, labels = self.runs, self.labels()
        if not labels:
            return None
        paper = self.section.paper_values(tables.PAPERS_METRIC.get(metric, metric))
        reference = self.reference(labels, paper, reference)
        figure = plots.beside_paper(runs, labels, paper, reference, metric)
        table = tables.beside_paper(self.section, runs, metric)
        plots.save(figure, table, self.profile, stem or self.stem())
        return figure

    @staticmethod
    def reference(labels: list[str], paper: dict, wanted: str = "") -> str:
        known = [label for label in labels if label in paper]
        return (
            wanted if wanted in labels else max(known, key=paper.get, default=labels[0])
        )

    def stem(self, part: str = "") -> str:
        number = self.section.notebook[:2]
        return "_".join(filter(None, (number, self.section.name, part)))

    def drawn(self, figure: Figure, table: pd.DataFrame, part: str) -> Figure:
        """Saves a figure of another kind, with its table, under the section's name."""
        plots.save(figure, table, self.profile, self.stem(part))
        return figure

    def curves(self, y: str = "score", ylabel: str = DEV, **axes) -> Figure | None:
        """The training's curves; `part` "trajectory" has those of the geometry."""
        part = axes.pop("part", "history")
        table = tables.curves(self.section, self.profile, self.seeds, part)
        if not len(table) or y not in table:
            return None
        return self.drawn(plots.curves(table, y, ylabel, **axes), table, f"{y}_curves")

    def align_uniform(self) -> Figure | None:
        """Every run at its uniformity and alignment on the dev split."""
        if not (labels := self.labels()):
            return None
        table = self.runs.groupby("label", sort=False)[list(tables.SHAPE)].mean()
        figure = plots.align_uniform(self.runs, labels)
        return self.drawn(figure, table, "align_uniform")

    def spectra(self) -> Figure | None:
        """Singular values of the dev split's vectors, over the largest."""
        values = tables.spectra(self.section, self.profile, self.seeds)
        if not values:
            return None
        means = {x: pd.DataFrame(own).mean() for x, own in values.items()}
        return self.drawn(plots.spectra(values), pd.DataFrame(means), "spectra")

    def matrix(self, metric: str = METRIC, rows="", columns="") -> Figure | None:
        """Labels "row, column" as a table of colours, ours beside the paper's."""
        means = tables.summary(self.runs, metric).set_index("label")["mean"]
        paper = self.section.paper_values(tables.PAPERS_METRIC.get(metric, metric))
        if means.empty:
            return None
        values = tables.unstacked(means, self.section)
        theirs = tables.unstacked(pd.Series(paper), self.section) if paper else None
        values = values.rename_axis(index=rows, columns=columns)
        figure = plots.matrix(values, theirs, f"ours, profile {self.profile}")
        part = "matrix" if metric == METRIC else f"{metric}_matrix"
        return self.drawn(figure, values, part)

    def verdicts(self, *others: "Opened") -> HTML | Markdown:
        """What the runs say to each claim, of other sections too, with rule and margin."""
        if PROFILES[self.profile].seeds < 5:
            told = "has one seed a point, so it gives no verdicts."
            return Markdown(f"Profile {self.profile} {told}")
        opened = (self, *others)
        parts = [ledger.of_section(x.section, x.profile, x.seeds) for x in opened]
        table = pd.concat(parts, ignore_index=True)
        return ledger.as_html(table, f"{self.section.name}_{self.profile}")

    def try_it(self, fields: Mapping, reference: str = "") -> Figure | None:
        """Trains one more point at profile quick, and draws it into the figure.

        fields: those of Settings or Config in which it differs from the base. {}: none.
        """
        if not fields:
            print("mine = {} trains nothing.")
            return None
        label = ", ".join(f"{name} {value}" for name, value in fields.items())
        paper = self.section.paper_values()
        labels = self.labels() or list(self.section.points)
        reference = self.reference(labels, paper, reference)
        more = self.section.with_point(label, **fields)
        mine = {name: more.config(name, TRIED, 0) for name in (reference, label)}
        # data of the transfer tasks are not in the repository
        mine = {name: vary(config, transfer=False) for name, config in mine.items()}
        prepare(list(mine.values()))
        score = {}
        for name, config in mine.items():
            path = run_file(config, TRIED, tables.own_folder(TRIED))
            with Watch(name):
                make_run(config, path, bar=True)
            score[name] = tables.record_of(config, TRIED)["metrics"][METRIC]
        told = ", ".join(f"{name}: {value:.1f}" for name, value in score.items())
        print(f"{told} (profile {TRIED})")
        own = {f"yours: {label}": score[label] - score[reference]}
        if not len(self.runs):
            return None
        return plots.beside_paper(self.runs, labels, paper, reference, METRIC, own)


def answer(section: str, *sentences: tuple[str, str, str]) -> Markdown:
    """The answer on a notebook's first screen: sentences by a person, numbers by the runs.

    Each is (claim, verdict, text); the text may hold {effect}, {low}, {high}, {paper}
    and {n}. Where the runs no longer say that verdict, a warning stands beside it.
    """
    judged = ledger.of_section(SECTIONS[section], EVIDENCE).to_dict("records")
    rows = {row["id"]: row for row in judged}
    lines = []
    for claim, word, text in sentences:
        row = choose(rows, claim, f"claim of {section}")
        numbers = {k: f"{row[k]:.1f}" for k in ("effect", "low", "high", "paper")}
        lines.append(text.format(n=row["n"], **numbers))
        if row["verdict"] != word:
            told = f"this sentence says *{word}*, the runs now say *{row['verdict']}*"
            lines.append(f"\n\n> **Warning:** {told}.\n\n")
    return Markdown(" ".join(lines))


def source(*objects: Callable) -> Markdown:
    """The source of functions or classes, as the library has it at this moment."""
    check_parameters()
    texts = [dedent(inspect.getsource(o)) for o in objects]
    return Markdown("\n".join(f"```python\n{text}```" for text in texts))
