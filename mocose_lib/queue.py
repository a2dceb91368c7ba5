"""The queue of negatives, with the age of each entry (MoCoSE sections 3, 5.6)."""

import torch
from jaxtyping import Float, Int
from torch import nn
from torch.nn import functional as F

from .settings import Slice

RANDOM = -1  # the "step" in which an entry of the initial fill was born


class NegativeQueue(nn.Module):
    """First in, first out; entries stand newest first, in buffers `keys` and `born`.

    `exact` growth starts with `init` random unit vectors and holds what has arrived,
    up to `size`. `published` repeats the authors' code. It has `size` random vectors
    from the start, or none where `init` is 0, and drops the oldest only once more than
    `size` keys were counted. So at first up to `2 init` random vectors are negatives,
    and for some steps there are more than `size` entries.
    """

    def __init__(self, size: int, dim: int, init: int, generator, growth="exact"):
        super().__init__()
        self.size, self.init, self.growth, self.count = size, init, growth, init
        rows = size if growth == "published" else init
        noise = torch.randn(rows, dim, generator=generator)
        self.register_buffer("keys", F.normalize(noise, dim=-1))
        self.register_buffer("born", torch.full((rows,), RANDOM))

    @torch.no_grad()
    def enqueue(self, keys: Float[torch.Tensor, "batch dim"], step: int) -> None:
        """Puts the keys of `step` in front; the oldest beyond `size` are dropped."""
        if self.growth == "published" and self.count == 0:
            self.keys, self.born = self.keys[:0], self.born[:0]
        self.count += len(keys)
        self.keys = torch.cat([keys.to(self.keys.dtype), self.keys])
        self.born = torch.cat([self.born.new_full((len(keys),), step), self.born])
        if self.growth == "exact" or self.count > self.size:
            self.keys, self.born = self.keys[: self.size], self.born[: self.size]

    def refresh(self, keys: Float[torch.Tensor, "m dim"]) -> None:
        """Replaces the newest entries by `keys`: the same sentences, encoded anew."""
        keys = keys[: self.size].to(self.keys.dtype)
        self.keys = torch.cat([keys, self.keys[len(keys) :]])

    def _used(self) -> int:
        """How many entries serve as negatives, counted from the newest."""
        if self.growth == "published" and self.count + self.init < self.size:
            return self.count + self.init
        return len(self.keys)

    def negatives(self, parts: tuple[Slice, ...] = ()) -> Float[torch.Tensor, "n dim"]:
        """The entries in the ranges `parts`, counted from the newest; () is all.

        Until the queue is full, all of it is used, as in the authors' code.
        """
        keys = self.keys[: self._used()]
        if not parts or len(keys) < self.size:
            return keys
        return torch.cat([keys[low:high] for low, high in parts])

    def ages(self, step: int) -> Int[torch.Tensor, " n"]:
        """Steps since each entry came, newest first; RANDOM for the initial fill."""
        born = self.born[: self._used()]
        return torch.where(born == RANDOM, RANDOM, step - born)

    def get_extra_state(self) -> int:
        return self.count

    def set_extra_state(self, count: int) -> None:
        self.count = count

    def _load_from_state_dict(self, state, prefix, *rest) -> None:
        for name in ("keys", "born"):  # which are as long as what is loaded
            shape = state[prefix + name].shape
            setattr(self, name, getattr(self, name).new_empty(shape))
        super()._load_from_state_dict(state, prefix, *rest)
