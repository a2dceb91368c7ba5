"""The curve of a run, drawn while it trains."""

import logging
from collections.abc import Mapping

import pandas as pd
from IPython.display import clear_output, display
from matplotlib import pyplot as plt

from . import plots

DEV = "dev split, Spearman × 100"


class Watch(logging.Handler):
    """Draws a run's curve while it trains: the trainer logs every evaluation."""

    def __init__(self, run: str):
        super().__init__()
        self.run, self.rows = run, []

    def emit(self, record: logging.LogRecord) -> None:
        if not isinstance(record.args, Mapping) or "score" not in record.args:
            return
        self.rows.append({"label": self.run, "seed": 0, **record.args})
        clear_output(wait=True)
        figure = plots.curves(pd.DataFrame(self.rows), "score", DEV)
        display(figure)
        plt.close(figure)

    def __enter__(self) -> None:
        logger = logging.getLogger("mocose_lib.trainer")
        self.before = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(self)

    def __exit__(self, *_) -> None:
        logger = logging.getLogger("mocose_lib.trainer")
        logger.removeHandler(self)
        logger.setLevel(self.before)
