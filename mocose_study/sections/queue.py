"""The queue."""

from mocose_study.config import choose

from .section import Points, cells, section

FILLS = {"none": 0, "quarter": 0.25, "half": 0.5, "all": 1}
SLICES = {  # ages of keys, in keys; the newest is 0
    "0-512": [[0, 512]],
    "256-768": [[256, 768]],
    "512-1024": [[512, 1024]],
    "0-256+768-1024": [[0, 256], [768, 1024]],
    "all": [],
}


@section("08_queue", paper="mocose_table7", small=("128, quarter", "512, quarter"))
def queue(
    queue_sizes=(0, 128, 256, 512, 1024, 4096), initial_fills=tuple(FILLS)
) -> Points:
    """How long should the queue be, and how much of it random at first?

    MoCoSE Table 7, Figures 11 and 12; its anonymous version has no queue at all, and a
    start of 128 vectors.
    """
    points = {"no queue": {"queue_size": 0}} if 0 in queue_sizes else {}
    for size in filter(None, queue_sizes):
        for fill in initial_fills:
            count = round(choose(FILLS, fill, "initial fill") * size)
            own = {"queue_init": count, "paper": f"{size}, {fill}, {count}"}
            points |= cells({f"{size}": {"queue_size": size}}, {fill: own})
    return points | cells(
        {f"{size}": {"queue_size": size} for size in {1024, 4096} & {*queue_sizes}},
        {"128 vectors": {"queue_init": 128}},
    )


@section("08_queue", paper="mocose_table8", length=1, small=())
def slices(slices=tuple(SLICES)) -> Points:
    """Which part of the queue makes the best negatives? MoCoSE Table 8.

    Batch 256 and queue 1,024, as in the table.
    """
    shared = {"batch_size": 256, "queue_size": 1024, "queue_init": 128}
    return {x: shared | {"negatives_slice": choose(SLICES, x, "slice")} for x in slices}


@section("08_queue", paper="mocose_anonymous_table8", small=())
def queue_keys(policies=("normal", "latest", "oldest")) -> Points:
    """Does the history that the queue keeps help? The anonymous version's Table 8."""
    known = {
        "normal": {},
        "latest": {"queue_keys": "latest"},
        "oldest": {
            "queue_size": 1024,
            "queue_init": 256,
            "negatives_slice": [[512, 1024]],
        },
    }
    return {name: choose(known, name, "policy") for name in policies}
