"""The two branches of MoCoSE (Figure 1): forward passes only, no side effects."""

import copy
from dataclasses import dataclass

import torch
from torch import nn

from .encoder import Encoder, make_identity
from .settings import Settings
from .shapes import Mask, Positions, Vectors, Words


@dataclass
class View:
    """One augmented version of a batch, as the encoder receives it."""

    words: Words
    mask: Mask
    positions: Positions | None = None


def head(layers: int, width: int, dim: int, style: str, dropout: float, last=None) -> nn.Sequential:
    """`layers` fully connected layers from `width` to `dim`; none is the identity.

    "plain" has ReLU between them. "published" has LayerNorm and dropout after each; `last`, if given,
    takes their place at the end.
    """
    parts = nn.Sequential()
    for left in reversed(range(layers)):
        parts.append(nn.Linear(width, width if left else dim))
        if style == "plain":
            parts.extend([nn.ReLU()] if left else [])
        elif last and not left:
            parts.append(last())
        else:
            parts.extend([nn.LayerNorm(parts[-1].out_features), nn.Dropout(dropout)])
    return parts


class Branch(nn.Module):
    """encoder -> pooler -> projection -> predictor; `dim` is the width of query and keys."""

    def __init__(self, encoder: Encoder, settings: Settings):
        super().__init__()
        self.encoder, width = encoder, encoder.width
        self.dim = settings.predictor_dim or width
        self.activation = nn.Tanh() if settings.pooler_activation == "tanh" else nn.Identity()
        style = (settings.heads, settings.head_dropout)
        with torch.random.fork_rng(devices=[]):  # one head more does not change another
            torch.manual_seed(settings.seed)
            self.projection = head(settings.projection_layers, width, self.dim, *style)
            torch.manual_seed(settings.seed)
            self.predictor = head(settings.predictor_layers, self.dim, self.dim, *style, nn.Tanh)
        if settings.head_init == "identity":
            for part in (*self.projection, *self.predictor):
                make_identity(part)

    def forward(self, view: View) -> Vectors:
        pooled = self.encoder(view.words, view.mask, view.positions)  # (batch, width)
        return self.predictor(self.projection(self.activation(self.encoder.pooler(pooled))))


def target_of(online: Branch, settings: Settings) -> Branch:
    """A copy of `online` without predictor; only what `settings` share or train has gradients."""
    target = copy.deepcopy(online).requires_grad_(False)
    target.predictor = nn.Sequential()
    if settings.shared_embeddings:
        target.encoder.model.embeddings = online.encoder.model.embeddings
    if settings.target_projection_trained:
        target.projection.requires_grad_(True)
    return target
