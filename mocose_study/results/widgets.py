"""What notebooks let one move by hand: JupyterLab shows controls, paper the default."""

import os

import ipywidgets
import matplotlib.pyplot as plt
from IPython.display import display

from mocose_study.config import configure
from mocose_study.sections import GRIDS

from . import plots, show
from .explain import ages_over_time

DECAYS = (0.0, 0.5, 0.8, 0.85, 0.9, 0.95, 0.99)
QUEUES = (128, 256, 512, 1024, 4096)
BATCHES = (32, 64, 128, 256)


def queue_point(profile: str, decay: float, queue: int, batch: int) -> None:
    """Prints the traceable distance and what the runs at this point scored, and draws how old the
    queue's entries are in the first steps. A quarter of the queue is filled at the start.

    The figure is displayed and closed here. One that is left to the notebook's own machinery comes
    too late for the output of a control, which then stays blank.
    """
    sizes = {"queue_size": queue, "queue_init": queue // 4, "batch_size": batch}
    config = configure(
        profile, ema_decay=decay, **sizes, **GRIDS["queue"].fields_at(profile)
    )
    distance = f"maximum traceable distance {config.traceable_distance:.2f} steps"
    print(f"{distance}; {show.stored(config, profile)}")
    figure = plots.queue_ages(
        ages_over_time(config, steps=24), f"K = {queue}, batch {batch}"
    )
    display(figure)
    plt.close(figure)


def move_queue(profile: str) -> None:
    """Controls for decay, queue and batch, and below them `queue_point`.

    Without a Jupyter server, as under papermill, the default point alone: there nothing answers a
    control's messages, and they can hold the execution up for ever.
    """
    default = configure(profile)
    if (
        "JPY_SESSION_NAME" not in os.environ
    ):  # the server sets it for the kernels it starts
        queue_point(profile, default.ema_decay, default.queue_size, default.batch_size)
        return
    ipywidgets.interact(
        queue_point,
        profile=ipywidgets.fixed(profile),
        decay=ipywidgets.Dropdown(options=DECAYS, value=default.ema_decay),
        queue=ipywidgets.Dropdown(options=QUEUES, value=default.queue_size),
        batch=ipywidgets.Dropdown(options=BATCHES, value=default.batch_size),
    )
