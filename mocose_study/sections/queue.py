"""The queue: its length and first fill (MoCoSE Table 7, Figures 11, 12), its parts (Table 8), and
its history (Table 8 of the anonymous version)."""

from .grid import CONTROL, LAST, RELEVANT, Grid, Point, beats, best, harmed, sized, stated

SIZES = (128, 256, 512, 1024, 4096)
FILLS = {"none": 0.0, "quarter": 0.25, "half": 0.5, "all": 1.0}
FIRST = ((512, "quarter"), (4096, "quarter"), (128, "quarter"))
CLAIMED = ((512, "none"), (512, "half"), (512, "all"), (4096, "none"), (128, "all"), (1024, "all"))
REST = tuple(
    (size, fill) for size in SIZES for fill in FILLS if (size, fill) not in FIRST + CLAIMED
)


def filled(size: int, fill: str) -> Point:
    label, first = f"{size}, {fill}", round(FILLS[fill] * size)
    fields = {"queue_size": size, "queue_init": first}
    return Point(label, fields, paper=f"{label}, {first}", tier=1 if label == "512, quarter" else 2)


def parts(label: str, *ages: tuple[int, int]) -> Point:
    """Ages that serve as negatives, at the batch and queue of the paper's Table 8."""
    fields = {"batch_size": 256, "queue_size": 1024, "queue_init": 128, "negatives_slice": ages}
    halved = {"steps": 0.5, "eval_every": 0.5}
    return Point(label, fields, scale=halved)


GRIDS = {
    "queue": Grid(
        question="How long should the queue be, and how much of it filled at random at first?",
        points=(*(filled(*pair) for pair in FIRST + CLAIMED + REST), CONTROL),
        paper="mocose_table7",
        notebook="08_queue",
        control=harmed("128, quarter"),
        claims=(
            stated(
                "mocose-queue-512-quarter-best",
                best(
                    "512, quarter",
                    [
                        "512, none",
                        "512, half",
                        "512, all",
                        "128, all",
                        "1024, all",
                        "4096, quarter",
                    ],
                ),
            ),
            *sized("mocose-queue-4096-breaks", "512, quarter", "4096, quarter", LAST),
            *sized("mocose-queue-4096-breaks-unfilled", "512, none", "4096, none", LAST),
            stated("mocose-queue-longer-no-gain", beats("128, all", "1024, all", -RELEVANT)),
            stated("mocose-queue-partial-init-helps", beats("512, quarter", "512, all")),
            stated("mocose-queue-empty-start-512", beats("512, quarter", "512, none")),
        ),
    ),
    "queue_parts": Grid(
        question="Which part of the queue makes the best negatives?",
        points=(
            parts("0-512", (0, 512)),
            parts("256-768", (256, 768)),
            parts("512-1024", (512, 1024)),
            parts("0-256+768-1024", (0, 256), (768, 1024)),
            parts("all"),
            CONTROL,
        ),
        paper="mocose_table8",
        notebook="08_queue",
        control=harmed("all"),
        claims=(
            stated("mocose-slice-middle-best", best("256-768", ["all", "0-512", "512-1024"])),
            stated("mocose-slice-middle-over-newest", beats("256-768", "0-512")),
            stated("mocose-slice-middle-over-oldest", beats("256-768", "512-1024")),
            stated("mocose-slice-without-middle", beats("256-768", "0-256+768-1024")),
            stated("mocose-slice-not-only-count", beats("0-512", "512-1024")),
        ),
    ),
    "queue_history": Grid(
        question="Does the history that the queue keeps help?",
        points=(
            Point("normal", {"queue_size": 512, "queue_init": 128}),
            Point("latest", {"queue_size": 512, "queue_init": 128, "queue_keys": "latest"}),
            Point(
                "oldest", {"queue_size": 1024, "queue_init": 256, "negatives_slice": ((512, 1024),)}
            ),
            CONTROL,
        ),
        paper="mocose_anonymous_table8",
        notebook="08_queue",
        control=harmed("normal"),
        claims=(
            stated("mocose-anonymous-refresh-latest-worse", beats("normal", "latest")),
            stated("mocose-anonymous-oldest-half-worse", beats("normal", "oldest")),
            stated("mocose-anonymous-oldest-below-latest", beats("latest", "oldest")),
        ),
    ),
}
