"""Which sentences make a batch, and in which order."""

import logging

import numpy as np

from .settings import InputError, Settings

log = logging.getLogger(__name__)


def batches(lengths, settings: Settings, start: int = 0):
    """Endless row numbers (batch_size,) from batch number `start` on.

    Every epoch is a new random order, a function of (seed, epoch) alone. `batch_lengths` "equal"
    gives batches of one token length, "one" only sentences that fill `max_length` or were cut there.
    Incomplete batches are left out. Raises InputError when no length has a batch of sentences.
    """
    lengths, size = np.asarray(lengths), settings.batch_size
    epoch = number = 0
    while True:
        rng = np.random.default_rng([settings.seed, epoch])
        order = rng.permutation(len(lengths))
        groups = [order]
        if settings.batch_lengths == "one":
            groups = [order[lengths[order] == settings.max_length]]
        elif settings.batch_lengths == "equal":
            order = order[np.argsort(lengths[order], kind="stable")]
            groups = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
        full = [
            g[i : i + size] for g in groups for i in range(0, len(g) - size + 1, size)
        ]
        if not full:
            few = f"no {size} of the {len(lengths)} sentences fit batch_lengths ="
            raise InputError(
                f"{few} {settings.batch_lengths!r}; use 'mixed', or give more."
            )
        never = sum(len(g) for g in groups if len(g) < size)
        if epoch == 0 and 20 * never > len(lengths):
            told = "batch_lengths = %r leaves out %d of %d sentences, too few of their length"
            log.warning(told, settings.batch_lengths, never, len(lengths))
        if settings.batch_lengths == "equal":  # they stand sorted by length
            full = [full[i] for i in rng.permutation(len(full))]
        for rows in full:
            if number >= start:
                yield rows
            number += 1
        epoch += 1
