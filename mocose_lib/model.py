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


def projection(layers: int, width: int, dim: int, style: str, dropout: float) -> nn.Sequential:
    """`layers` fully connected layers from `width` to `dim`; none is the identity.

    "published": every Linear is followed by LayerNorm and dropout. "plain": ReLU between Linears.
    """
    head = nn.Sequential()
    for i in range(layers):
        head.append(nn.Linear(width, dim if i == layers - 1 else width))
        if style == "published":
            head.extend([nn.LayerNorm(head[-1].out_features), nn.Dropout(dropout)])
        elif i < layers - 1:
            head.append(nn.ReLU())
    return head


def predictor(layers: int, dim: int, style: str, dropout: float) -> nn.Sequential:
    """`layers` fully connected layers of width `dim`; none is the identity.

    "published": LayerNorm and dropout after all but the last Linear, tanh after the last.
    """
    head = projection(max(layers - 1, 0), dim, dim, style, dropout)
    if layers > 1 and style == "plain":
        head.append(nn.ReLU())
    if layers:
        head.append(nn.Linear(dim, dim))
        if style == "published":
            head.append(nn.Tanh())
    return head


class Branch(nn.Module):
    """encoder -> pooler -> projection -> predictor; the target's predictor is the identity.

    `dim` is the width of query and keys. Each head is built from its own seed, so that adding one
    head does not change another.
    """

    def __init__(self, encoder: Encoder, settings: Settings):
        super().__init__()
        self.encoder, width = encoder, encoder.width
        self.dim = settings.predictor_dim or width
        self.activation = nn.Tanh() if settings.pooler_activation == "tanh" else nn.Identity()
        style = (settings.heads, settings.head_dropout)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.projection = projection(settings.projection_layers, width, self.dim, *style)
            torch.manual_seed(settings.seed)
            self.predictor = predictor(settings.predictor_layers, self.dim, *style)
        if settings.head_init == "identity":
            for part in (*self.projection, *self.predictor):
                make_identity(part)

    def forward(self, view: View) -> Vectors:
        pooled = self.encoder(view.words, view.mask, view.positions)  # (batch, width)
        return self.predictor(self.projection(self.activation(self.encoder.pooler(pooled))))


def target_of(online: Branch, settings: Settings) -> Branch:
    """A copy of `online` without predictor and gradients: MoCoSE's target branch.

    It shares the online embedding layer where `shared_embeddings` says so. Its projection takes
    gradients where `target_projection_trained` says so.
    """
    target = copy.deepcopy(online).requires_grad_(False)
    target.predictor = nn.Sequential()
    if settings.shared_embeddings:
        target.encoder.model.embeddings = online.encoder.model.embeddings
    if settings.target_projection_trained:
        target.projection.requires_grad_(True)
    return target
