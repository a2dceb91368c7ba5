"""The batch, and the traceable distance that it makes with decay and queue."""

from mocose_study.config import Config, InputError

from .section import Points, crossed, section, short

BEST = Config(ema_decay=0.85)  # whose distance is the paper's best, 14.67


@section("07_batch", paper="mocose_table6b", small=("64", "256"))
def batch(batch_sizes=(32, 64, 128, 256)) -> Points:
    """Does a larger batch help, where all see as many sentences? MoCoSE Table 6.b."""
    return {f"{size}": {"batch_size": size} for size in batch_sizes}


@section("07_batch", small=())
def batch_decay(batch_sizes=(32, 64, 128, 256), decays=(0.5, 0.85, 0.95)) -> Points:
    """Does the best decay depend on the batch? MoCoSE Figure 3.

    At 128 and 256 also with the decay that gives the paper's best distance, 14.67; at
    32 the queue alone is longer.
    """
    points = crossed(batch_size=batch_sizes, ema_decay=decays)
    for size in {128, 256} & {*batch_sizes}:
        decay = round(1 - 1 / (BEST.traceable_distance - BEST.queue_size / size), 3)
        points |= crossed(batch_size=(size,), ema_decay=(decay,))
    return dict(sorted(points.items(), key=lambda point: point[1]["ema_decay"]))


@section("09_traceable_distance", small=("η 0.5", "η 0.85"))
def distance(
    decays=(0.5, 0.75, 0.85, 0.9, 0.95, 0.97, 0.99),
    queue_sizes=(128, 256, 1024, 2048, 4096),
    batch_sizes=(32, 128, 256),
) -> Points:
    """Is there a best traceable distance, whatever makes it? MoCoSE Figures 2, 4, 13.

    One of decay, queue and batch is varied; the others stay at 0.85, 512 and 64.
    """
    if not all(0 <= decay < 1 for decay in decays):
        raise InputError(f"decays = {decays}; a decay lies from 0 to below 1.")
    constant = {"ema_decay": 0.85}
    return {
        **{f"η {short(decay)}": {"ema_decay": decay} for decay in decays},
        **{f"K {size}": constant | {"queue_size": size} for size in queue_sizes},
        **{f"B {size}": constant | {"batch_size": size} for size in batch_sizes},
    }
