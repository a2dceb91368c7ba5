"""How old a queued key may get before it differs from what the present target would give.

Equation 4 of MoCoSE counts how far back the queue reaches; no paper measures how much of that
still holds. Keys are (n, dim) arrays of the same n sentences: `stored` come from the queue,
`fresh` and `again` from two passes of the present target, which differ by dropout.
"""

import numpy as np
from jaxtyping import Float, Int

from ..queue import RANDOM
from .geometry import mean_cosine
from .sts import cosine

Keys = Float[np.ndarray, "n dim"]


def drift(
    stored: Keys, fresh: Keys, again: Keys, ages: Int[np.ndarray, " n"]
) -> dict[str, list[float]]:
    """Columns age (steps), cosine, ceiling, retained and n, with one entry for every age.

    `cosine` is the mean over that age's keys of stored with fresh, `ceiling` that of again with
    fresh: what dropout alone leaves. `retained` puts the cosine on a scale from the mean cosine
    of different sentences (0) to the ceiling (1: as good as new), clipped; it is 0 for a
    collapsed target. Entries of the random fill have no sentence and are left out.
    """
    near, best, floor = cosine(stored, fresh), cosine(again, fresh), mean_cosine(fresh)
    table: dict[str, list] = {"age": [], "cosine": [], "ceiling": [], "retained": [], "n": []}
    for age in np.unique(ages[ages != RANDOM]):
        of_age = ages == age
        found, ceiling = near[of_age].mean(), best[of_age].mean()
        room = ceiling - floor
        retained = np.clip((found - floor) / room, 0, 1) if room > 1e-6 else 0.0
        values = (int(age), float(found), float(ceiling), float(retained), int(of_age.sum()))
        for column, value in zip(table.values(), values, strict=True):
            column.append(value)
    return table


def empirical_distance(table: dict[str, list[float]], ema_decay: float, batch_size: int) -> float:
    """The empirical traceable distance in steps, beside MoCoSE equation 4.

    1 / (1 - ema_decay) + sum over keys of what is retained of them / batch_size: without drift
    this is equation 4. Infinite for a decay of 1.
    """
    if ema_decay == 1:
        return float("inf")
    return 1 / (1 - ema_decay) + float(np.dot(table["retained"], table["n"])) / batch_size
