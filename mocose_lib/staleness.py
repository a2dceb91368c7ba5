"""How old a queued key may get before it no longer says what the present target would.

No paper measures it. Equation 4 of MoCoSE counts how far back the queue reaches; here stands how
much of that reach is still true. Keys are (n, dim) arrays of the same n sentences: `stored` from
the queue, `fresh` and `again` from two passes of the present target, which differ by dropout.
"""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from .geometry import mean_cosine
from .negatives import RANDOM
from .sts import cosine

Keys = Float[np.ndarray, "n dim"]


def drift(stored: Keys, fresh: Keys, again: Keys, ages: Int[np.ndarray, " n"]) -> pd.DataFrame:
    """One row per age in steps: age, cosine, ceiling, retained, n.

    `cosine` is the mean over that age's keys of stored with fresh, `ceiling` of again with fresh:
    what dropout alone leaves, for the very same sentences. `retained` puts the first on a scale
    from the mean cosine of different sentences (0: the key says nothing of its sentence) to the
    second (1: as good as new), clipped; 0 throughout for a collapsed target. Entries of the
    random fill (age RANDOM) have no sentence and are left out.
    """
    table = pd.DataFrame(
        {"age": ages, "cosine": cosine(stored, fresh), "ceiling": cosine(again, fresh)}
    )
    table = table[ages != RANDOM].groupby("age").agg(
        cosine=("cosine", "mean"), ceiling=("ceiling", "mean"), n=("cosine", "size")
    ).reset_index()  # fmt: skip
    floor = mean_cosine(fresh)
    room = table["ceiling"] - floor
    table["retained"] = ((table["cosine"] - floor) / room).where(room > 1e-6, 0).clip(0, 1)
    return table


def half_life(table: pd.DataFrame) -> float:
    """First age, in steps, at which less than half is retained; infinite if there is none."""
    old = table["age"][table["retained"] < 0.5]
    return float(old.iloc[0]) if len(old) else float("inf")


def empirical_distance(table: pd.DataFrame, ema_decay: float, batch_size: int) -> float:
    """The empirical traceable distance in steps, beside MoCoSE equation 4.

    1 / (1 - ema_decay) + sum over keys of what is retained of them / batch_size. A queue whose
    keys have not drifted gets 1 / (1 - ema_decay) + K / B, which is equation 4; the more they
    have drifted, the less. Infinite for a decay of 1.
    """
    if ema_decay == 1:
        return float("inf")
    return 1 / (1 - ema_decay) + float((table["retained"] * table["n"]).sum()) / batch_size


def summary(
    stored: Keys, fresh: Keys, again: Keys, ages: Int[np.ndarray, " n"],
    ema_decay: float, batch_size: int,
) -> dict:  # fmt: skip
    """All of the above as plain lists and numbers, for the run file."""
    table = drift(stored, fresh, again, ages)
    return {
        **table.to_dict("list"), "half_life": half_life(table),
        "empirical_distance": empirical_distance(table, ema_decay, batch_size),
    }  # fmt: skip
