"""The sections of the study: a function each, one for a table or figure of the papers.

`SECTIONS` has them with the papers' numbers; `claims.csv` says how they are judged.
"""

from . import averaging, differences, heads, queue, rate, simcse, systems, views
from .section import Section

_FUNCTIONS = (
    systems.main_results,
    systems.full_length,
    averaging.ema,
    averaging.pace,
    averaging.collapse,
    queue.queue,
    queue.slices,
    queue.queue_keys,
    heads.heads,
    heads.predictor_dim,
    views.augmentation,
    views.fgsm,
    queue.batch,
    queue.batch_decay,
    queue.distance,
    systems.geometry,
    systems.transfer,
    differences.to_code,
    differences.to_described,
    simcse.simcse_dropout,
    simcse.simcse_augmentation,
    simcse.simcse_objective,
    simcse.simcse_pooling,
    simcse.simcse_temperature,
    simcse.simcse_hard_negatives,
    simcse.simcse_batch,
    simcse.simcse_trajectory,
    simcse.simcse_mlm,
    simcse.s_simcse,
    rate.rate,
)
FUNCTIONS = {function.__name__: function for function in _FUNCTIONS}
SECTIONS: dict[str, Section] = {name: make() for name, make in FUNCTIONS.items()}
