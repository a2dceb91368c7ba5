"""How old a queued key may get before it differs from what the target gives now.

Equation 4 of MoCoSE counts how far back the queue reaches, not how much of it still
holds. Keys (n, dim) belong to the same sentences: `stored` are the queue's, `fresh` and
`again` come from two passes through the target as it is now.
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
    """Columns age (steps), cosine, ceiling, retained and n, with an entry for each age.

    `cosine` is that age's mean of stored with fresh. `ceiling` is that of again with
    fresh: what dropout alone leaves. `retained` puts the cosine on a scale from the
    mean cosine of different sentences (0) to the ceiling (1), clipped; 0 for a
    collapsed target. Entries of the random fill are left out.
    """
    aged = ages != RANDOM
    age, place, n = np.unique(ages[aged], return_inverse=True, return_counts=True)
    near = np.bincount(place, cosine(stored, fresh)[aged]) / n
    ceiling = np.bincount(place, cosine(again, fresh)[aged]) / n
    floor = mean_cosine(fresh)
    room = np.maximum(ceiling - floor, 1e-6)
    retained = np.where(room > 1e-6, ((near - floor) / room).clip(0, 1), 0.0)
    columns = {"age": age, "cosine": near, "ceiling": ceiling, "retained": retained}
    return {name: column.tolist() for name, column in (columns | {"n": n}).items()}
