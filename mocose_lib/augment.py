"""Augmentations of the word embeddings (MoCoSE section 5.3, eq. 1; cut-offs after ConSERT).

Pure functions: nothing is changed in place, randomness comes from the generator passed in.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def _uniform(shape, generator: torch.Generator, device) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device).to(device)


def fgsm(
    embeddings: Float[Tensor, "batch length dim"],
    gradient: Float[Tensor, "batch length dim"] | None,
    epsilon: float,
) -> Float[Tensor, "batch length dim"]:
    """x + epsilon sign(gradient of the loss at x) (MoCoSE eq. 1); x where there is none yet."""
    if gradient is None or epsilon == 0:
        return embeddings
    return embeddings + epsilon * gradient.sign()


def fit(gradient: Float[Tensor, "a l dim"], shape: torch.Size) -> Float[Tensor, "batch length dim"]:
    """Another batch's gradient cut, or filled with zeros, to `shape` (for the stale variant)."""
    fitted = gradient.new_zeros(shape)
    rows, length = min(shape[0], gradient.shape[0]), min(shape[1], gradient.shape[1])
    fitted[:rows, :length] = gradient[:rows, :length]
    return fitted


def shuffled_positions(
    mask: Bool[Tensor, "batch length"], generator: torch.Generator
) -> Int[Tensor, "batch length"]:
    """Position numbers 0, 1, ... of each row in random order; padding keeps its own."""
    position = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
    # sorting random numbers permutes the real tokens; padding sorts behind them, in order
    rank = torch.where(mask, _uniform(mask.shape, generator, mask.device), 1.0 + position)
    return rank.argsort(dim=1)


def token_cutoff(
    embeddings: Float[Tensor, "batch length dim"],
    mask: Bool[Tensor, "batch length"],
    rate: float,
    generator: torch.Generator,
) -> Float[Tensor, "batch length dim"]:
    """Sets max(1, floor(rate n)) of each row's n real tokens to zero; rate 0 sets none."""
    if rate == 0:
        return embeddings
    number = (mask.sum(1, keepdim=True) * rate).long().clamp(min=1)  # (batch, 1)
    order = torch.where(mask, _uniform(mask.shape, generator, mask.device), 2.0)
    cut = order.argsort(1).argsort(1) < number  # (batch, length)
    return embeddings.masked_fill(cut[..., None], 0.0)


def feature_cutoff(
    embeddings: Float[Tensor, "batch length dim"], rate: float, generator: torch.Generator
) -> Float[Tensor, "batch length dim"]:
    """Sets max(1, floor(rate dim)) features of each row to zero in all its tokens."""
    if rate == 0:
        return embeddings
    batch, _, dim = embeddings.shape
    order = _uniform((batch, dim), generator, embeddings.device)
    cut = order.argsort(1).argsort(1) < max(1, int(rate * dim))  # (batch, dim)
    return embeddings.masked_fill(cut[:, None], 0.0)
