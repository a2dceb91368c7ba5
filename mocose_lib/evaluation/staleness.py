"""How old a queued key may get before it differs from what the present target would give.

Equation 4 of MoCoSE counts how far back the queue reaches, not how much of that still holds. Keys
(n, dim) belong to the same sentences: `stored` to the queue, `fresh` and `again` to the target now.
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

    `cosine` is that age's mean of stored with fresh, `ceiling` that of again with fresh: what dropout
    alone leaves. `retained` puts the cosine on a scale from the mean cosine of different sentences (0)
    to the ceiling (1), clipped; 0 for a collapsed target. Entries of the random fill are left out.
    """
    near, best, floor = cosine(stored, fresh), cosine(again, fresh), mean_cosine(fresh)
    age, place, n = np.unique(
        ages[ages != RANDOM], return_inverse=True, return_counts=True
    )
    found, ceiling = (
        np.bincount(place, x[ages != RANDOM], len(n)) / n for x in (near, best)
    )
    room = ceiling - floor
    retained = np.where(
        room > 1e-6, ((found - floor) / np.maximum(room, 1e-6)).clip(0, 1), 0.0
    )
    columns = {
        "age": age,
        "cosine": found,
        "ceiling": ceiling,
        "retained": retained,
        "n": n,
    }
    return {name: column.tolist() for name, column in columns.items()}
