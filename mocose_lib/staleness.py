"""How old a queued key may get before it no longer says what the present target would.

No paper measures it. Equation 4 of MoCoSE counts how far back the queue reaches; here stands how
much of that reach is still true.
"""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from .geometry import mean_cosine
from .negatives import RANDOM
from .sts import cosine


def drift(
    stored: Float[np.ndarray, "n dim"],
    fresh: Float[np.ndarray, "n dim"],
    ages: Int[np.ndarray, " n"],
) -> pd.DataFrame:
    """Mean cosine of stored keys to what the present target gives for the same sentences.

    One row per age in steps: age, cosine, n. Entries of the random fill (age RANDOM) have no
    sentence and are left out; so is a key whose cosine is undefined.
    """
    table = pd.DataFrame({"age": ages, "cosine": cosine(stored, fresh)}).query("age != @RANDOM")
    return table.groupby("age")["cosine"].agg(["mean", "count"]).set_axis(
        ["cosine", "n"], axis=1).reset_index()  # fmt: skip


def retained(table: pd.DataFrame, fresh: Float[np.ndarray, "n dim"]) -> Float[np.ndarray, " ages"]:
    """How much of a key is left at every age of `drift`: 1 as new, 0 no better than any other.

    The cosine on a scale from that of two different sentences under the present target (0) to
    that of the newest keys (1), which lies below a cosine of 1 by dropout alone. Clipped.
    """
    floor, top = mean_cosine(fresh), table["cosine"].iloc[0]
    if not top > floor:  # collapsed: all sentences look the same, so that nothing is retained
        return np.zeros(len(table))
    return np.clip((table["cosine"].to_numpy() - floor) / (top - floor), 0, 1)


def half_life(table: pd.DataFrame, fresh: Float[np.ndarray, "n dim"]) -> float:
    """First age, in steps, at which half of a key is left; infinite if the queue has none so old."""
    below = np.flatnonzero(retained(table, fresh) < 0.5)
    return float(table["age"].iloc[below[0]]) if len(below) else float("inf")


def empirical_distance(
    table: pd.DataFrame, fresh: Float[np.ndarray, "n dim"], ema_decay: float, batch_size: int
) -> float:
    """The empirical traceable distance in steps, beside MoCoSE equation 4.

    1 / (1 - ema_decay) + sum over keys of what is retained of them / batch_size. A queue whose
    keys have not drifted gets 1 / (1 - ema_decay) + K / B, which is equation 4; the more they
    have drifted, the less. Infinite for a decay of 1.
    """
    if ema_decay == 1:
        return float("inf")
    reach = float((retained(table, fresh) * table["n"]).sum()) / batch_size
    return 1 / (1 - ema_decay) + reach
