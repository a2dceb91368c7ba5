"""What is measured, and for how long, by profile."""

from dataclasses import dataclass, field
from types import MappingProxyType

from mocose_study.config import choose


@dataclass(frozen=True)
class Sizes:
    """Times in seconds; the notebook shows all of them beside the results."""

    repeats: int  # rounds in which all competitors take turns
    seconds: float  # of training of a competitor in each round
    long_repeats: int = 3  # rounds, at most, of `evaluation` and `grid`, whose turns take minutes
    encoders: tuple[str, ...] = ("2x128", "4x256")
    texts: tuple[str, ...] = ("full", "natural")
    sentences: int = 4_000  # of each text
    queues: tuple[int, ...] = (128, 512, 2048, 8192)
    batches: tuple[int, ...] = (16, 32, 64, 128)
    lengths: tuple[int, ...] = (8, 16, 32, 64)
    depths: tuple[int, ...] = (1, 2, 4)  # layers of 4x256
    memory_steps: int = 500
    grid_steps: int = 60  # of each run of the grid
    grid_runs: int = 2  # of each process
    gpu_runs: int = 64  # processes side by side on one GPU
    parts: tuple[str, ...] = field(
        default=("training", "breakdown", "evaluation", "cost", "grid", "memory", "gpu"))  # fmt: skip

    @property
    def rounds(self) -> int:
        """Of the parts whose turns take minutes."""
        return min(self.repeats, self.long_repeats)


SIZES = MappingProxyType({
    "smoke": Sizes(
        1, 0.05, encoders=("2x128",), texts=("full",), sentences=300, queues=(128, 512),
        batches=(16, 64), lengths=(8, 32), depths=(1, 2), memory_steps=10, grid_steps=2,
        grid_runs=1, gpu_runs=2),
    "quick": Sizes(5, 2.0),
    "tiny": Sizes(9, 5.0, memory_steps=10_000, grid_steps=200, grid_runs=3),
})  # fmt: skip


def sizes_of(profile: str) -> Sizes:
    """Raises InputError on a profile without a benchmark."""
    return choose(SIZES, profile, "size of the benchmark")
