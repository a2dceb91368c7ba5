"""Who computes a batch: here one process, in the study also several."""

from torch import Tensor


class SingleProcess:
    """One process. A subclass for several has each encode its own rows of the views."""

    rank, size = 0, 1  # the process with rank 0 evaluates, and writes checkpoints

    def own(self, view):
        """The rows of a View that this process encodes."""
        return view

    def gather(self, keys: Tensor) -> list[Tensor]:
        """The keys of all processes, in the order of the batch."""
        return [keys]

    def average(self, tensors: list[Tensor]) -> None:
        """Puts the mean over the processes into each tensor."""

    def seed(self, seed: int, step: int) -> None:
        """Gives each process its own dropout."""
