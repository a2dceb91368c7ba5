"""Augmentations of the word embeddings (MoCoSE section 5.3; cut-offs after ConSERT).

Pure functions: nothing is changed in place, and all randomness comes from the generator passed in.
FGSM, which needs a gradient, stands in `fgsm.py`.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from .model import Branch, View
from .settings import Settings


def make_view(
    branch: Branch,
    ids: Int[Tensor, "batch length"],
    mask: Bool[Tensor, "batch length"],
    settings: Settings,
    generator: torch.Generator,
) -> View:
    """Word embeddings of the branch's encoder under cut-offs and position shuffle."""
    return View(*distorted(branch.encoder.words(ids), mask, settings, generator))


def distorted(
    words: Float[Tensor, "batch length width"],
    mask: Bool[Tensor, "batch length"],
    settings: Settings,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """(words, mask, positions) after cut-offs and shuffle; positions is None without shuffle."""
    words = token_cutoff(words, mask, settings.token_cutoff, generator)
    words = feature_cutoff(words, settings.feature_cutoff, generator)
    shuffled = shuffled_positions(mask, generator) if settings.position_shuffle else None
    return words, mask, shuffled


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


def _uniform(shape, generator: torch.Generator, device) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device).to(device)
