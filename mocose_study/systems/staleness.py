"""How old a queued key may get before it differs from what the target gives now.

Equation 4 of MoCoSE says how far back the queue reaches, not how much of it still
holds. Keys (n, dim) belong to the same sentences: `stored` are the queue's, `fresh` and
`again` come from two passes through the present target.
"""

import numpy as np
import torch
from jaxtyping import Float, Int

from mocose_lib.evaluation.geometry import mean_cosine
from mocose_lib.evaluation.sts import cosine
from mocose_lib.heads import stream
from mocose_lib.queue import RANDOM
from mocose_lib.train import MoCoSE, keys_anew

Keys = Float[np.ndarray, "n dim"]
MEASURED_AT = (0.25, 0.5, 0.75)  # shares of the training


def measure(trainer: MoCoSE) -> dict[str, list[float]]:
    """`drift` of the keys that are in the queue of a training.

    Draws from streams of its own: the training goes on as if nothing had been measured.
    """
    generator = stream(trainer.settings.seed, "staleness")
    with torch.random.fork_rng():
        passes = [keys_anew(trainer, generator) for _ in range(2)]
    ages = trainer.queue.ages(trainer.progress.step)
    n = min(len(passes[0]), len(ages))
    keys = [x[:n].float().cpu().numpy() for x in (trainer.queue.keys, *passes)]
    columns = drift(*keys, ages[:n].cpu().numpy())
    return {name: [round(x, 4) for x in column] for name, column in columns.items()}


def drift(
    stored: Keys, fresh: Keys, again: Keys, ages: Int[np.ndarray, " n"]
) -> dict[str, list[float]]:
    """Columns retained and n (keys), with an entry for each age, the youngest first.

    `retained`: how much of a key is left, by the mean cosine of stored and fresh. At 1
    it is as near as a second pass (`again`), whose dropout differs; at 0 no nearer than
    another sentence, or the target has collapsed. The random fill is left out.
    """
    aged = ages != RANDOM
    _, place, n = np.unique(ages[aged], return_inverse=True, return_counts=True)
    near = np.bincount(place, cosine(stored, fresh)[aged]) / n
    ceiling = np.bincount(place, cosine(again, fresh)[aged]) / n
    floor = mean_cosine(fresh)
    room = np.maximum(ceiling - floor, 1e-6)
    retained = np.where(room > 1e-6, ((near - floor) / room).clip(0, 1), 0.0)
    return {"retained": retained.tolist(), "n": n.tolist()}
