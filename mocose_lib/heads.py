"""Fully connected heads, and how fresh layers are drawn."""

import hashlib

import torch
from torch import Generator, nn


def stream(seed: int, name: str) -> Generator:
    """Random numbers for one purpose: another name gives others, with the same seed."""
    key = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=7).digest()
    return Generator().manual_seed(int.from_bytes(key, "big"))


@torch.no_grad()
def draw_layers(module: nn.Module, seed: int, std: float) -> None:
    """Draws all linear layers as BERT does: weights N(0, std), biases 0.

    Each layer has random numbers of its own, by its name. So no two are equal, and one
    layer more does not change another.
    """
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Linear):
            drawn = torch.empty(layer.weight.shape)
            layer.weight.copy_(drawn.normal_(0, std, generator=stream(seed, name)))
            layer.bias.zero_()


def head(
    layers: int, width: int, dim: int, style: str, dropout: float, eps: float, last=None
) -> nn.Sequential:
    """`layers` fully connected layers from `width` to `dim`; none is the identity.

    "plain" has ReLU between them. "published" has LayerNorm (with `eps`) and dropout
    after each; `last`, if given, takes their place at the end.
    """
    parts = nn.Sequential()
    for left in reversed(range(layers)):
        size = width if left else dim
        parts.append(nn.Linear(width, size))
        if style == "plain":
            parts.extend([nn.ReLU()] if left else [])
        elif last and not left:
            parts.append(last())
        else:
            parts.extend([nn.LayerNorm(size, eps), nn.Dropout(dropout)])
    return parts
