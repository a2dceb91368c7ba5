"""The curve of a run, drawn while it trains."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pandas as pd
from IPython.display import clear_output, display
from matplotlib import pyplot as plt

from . import plots


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
