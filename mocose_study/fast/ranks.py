"""Several processes as one training, as `accelerate launch` or `torchrun` starts it."""

import atexit
import os
from datetime import timedelta
from functools import cache

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.nn.functional import all_gather

from mocose_lib.model import View
from mocose_lib.ranks import SingleProcess
from mocose_study.config import InputError

from .processor import default_device


class Ranks(SingleProcess):
    """The processes of this launch; each has a GPU, or they share the CPU.

    Loss, gradients, queue and target are those of one process with the whole batch, up
    to the rounding of sums. Dropout draws other numbers from the same distribution.
    """

    def __init__(self):
        from accelerate import PartialState  # takes a second: only launches wait for it

        patience = timedelta(hours=12)  # while the first process evaluates
        state = PartialState(cpu=default_device() == "cpu", timeout=patience)
        atexit.register(state.destroy_process_group)
        self.rank, self.size = state.process_index, state.num_processes

    def own(self, view: View) -> View:
        """This process's share. Raises InputError for a batch that cannot be split."""
        n, rest = divmod(len(view.words), self.size)
        if rest:
            what = f"batch_size = {len(view.words)} cannot be split among"
            raise InputError(f"{what} {self.size} processes; set a multiple of that.")
        rows = slice(self.rank * n, (self.rank + 1) * n)
        positions = None if view.positions is None else view.positions[rows]
        return View(view.words[rows], view.mask[rows], positions)

    def gather(self, keys: Tensor) -> list[Tensor]:
        """Gradients of a process's loss reach the keys of every other one."""
        return list(all_gather(keys.contiguous()))

    def average(self, tensors: list[Tensor]) -> None:
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(flat)
        parts = (flat / self.size).split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def seed(self, seed: int, step: int) -> None:
        torch.manual_seed(((seed * 1_000_003 + step) * self.size + self.rank) % 2**63)


@cache
def ranks() -> SingleProcess:
    """The processes of this launch, or this one alone."""
    # a cluster's job may name a WORLD_SIZE by itself
    launched = "LOCAL_RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1
    return Ranks() if launched else SingleProcess()
