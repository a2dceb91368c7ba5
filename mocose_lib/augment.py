"""Augmentations of word embeddings (MoCoSE section 5.3; cut-offs after ConSERT).

Deviations from the authors' code: it shuffles all rows of a batch alike, and its token
cut-off takes a share of all 32 places. Both include padding; here each row's own tokens
count. It cuts off after FGSM, here FGSM moves what the cut-offs have left.
"""

import torch
from torch import Generator, Tensor

from .settings import Settings
from .shapes import Mask, Positions, Words


def distorted(
    words: Words, mask: Mask, settings: Settings, generator: Generator
) -> tuple[Tensor, Tensor, Tensor | None]:
    """(words, mask, positions) after cut-offs and shuffle; no shuffle, no positions."""
    words = token_cutoff(words, mask, settings.token_cutoff, generator)
    words = feature_cutoff(words, settings.feature_cutoff, generator)
    shuffle = settings.position_shuffle
    return words, mask, shuffled_positions(mask, generator) if shuffle else None


def shuffled_positions(mask: Mask, generator: Generator) -> Positions:
    """Numbers 0, 1, ... of each row's tokens in random order; padding keeps its own."""
    place = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
    # sorting random numbers permutes the real tokens; padding sorts behind, in order
    noise = _uniform(mask.shape, generator, mask.device)
    return torch.where(mask, noise, 1.0 + place).argsort(dim=1)


def token_cutoff(words: Words, mask: Mask, rate: float, generator: Generator) -> Words:
    """Sets max(1, floor(rate n)) of each row's n real tokens to zero; 0 sets none."""
    if rate == 0:
        return words
    number = (mask.sum(1, keepdim=True) * rate).long().clamp(min=1)  # (batch, 1)
    order = torch.where(mask, _uniform(mask.shape, generator, mask.device), 2.0)
    cut = order.argsort(1).argsort(1) < number  # (batch, length)
    return words.masked_fill(cut[..., None], 0.0)


def feature_cutoff(words: Words, rate: float, generator: Generator) -> Words:
    """Sets max(1, floor(rate width)) features of each row to zero in all its tokens."""
    if rate == 0:
        return words
    batch, _, width = words.shape
    order = _uniform((batch, width), generator, words.device)
    cut = order.argsort(1).argsort(1) < max(1, int(rate * width))  # (batch, width)
    return words.masked_fill(cut[:, None], 0.0)


def _uniform(shape, generator: Generator, device) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device).to(device)
