"""Where figures are kept, each with its table beside it."""

from collections.abc import Callable
from functools import wraps

from matplotlib.figure import Figure

from mocose_study.data.files import study_folder
from mocose_study.data.sources import warn_once

from .tables import own_folder


def saved(draw: Callable) -> Callable:
    """Saves what a function makes of an opened section's runs, if there are any.

    `draw` gives a figure, its table, and a name or None. They become .svg and .csv in
    figures/<profile>, the same bytes from the same runs; those of one's own seeds,
    changes or points, or of a part of the study's, in runs/<profile>/figures. `stem`
    names the files of a part that the study draws.
    """

    @wraps(draw)
    def drawn(opened, *asked, stem: str = "", **options) -> Figure | None:
        runs = opened.runs
        made = draw(opened, runs, *asked, **options) if len(runs) else None
        if made is None:
            return None
        figure, table, name = made
        parts = (opened.section.notebook[:2], opened.section.name, name)
        folder = study_folder() / "figures" / opened.profile
        if opened.own(part=not stem):
            folder = own_folder(opened.profile) / "figures"
        path = folder / (stem or "_".join(filter(None, parts)))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            table.to_csv(f"{path}.csv", float_format="%.4f")
            figure.savefig(f"{path}.svg", metadata={"Date": None})
        except OSError as cause:
            warn_once(f"{path} is not saved: {cause.strerror}")
        return figure

    return drawn
