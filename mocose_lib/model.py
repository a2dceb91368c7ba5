"""The two branches of MoCoSE (Figure 1): forward passes only, no side effects."""

import copy
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .encoder import Encoder, make_identity
from .settings import Settings


@dataclass
class View:
    """One augmented version of a batch, as the encoder receives it."""

    words: Float[Tensor, "batch length width"]
    mask: Bool[Tensor, "batch length"]
    positions: Int[Tensor, "batch length"] | None = None


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
    """encoder -> pooler -> projection -> predictor; the target's predictor is the identity."""

    def __init__(self, encoder: Encoder, settings: Settings):
        super().__init__()
        width, dim = encoder.width, settings.predictor_dim or encoder.width
        self.encoder = encoder
        self.activation = nn.Tanh() if settings.pooler_activation == "tanh" else nn.Identity()
        self.projection = _seeded(
            settings,
            projection,
            settings.projection_layers,
            width,
            dim,
            settings.heads,
            settings.head_dropout,
        )
        self.predictor = _seeded(
            settings,
            predictor,
            settings.predictor_layers,
            dim,
            settings.heads,
            settings.head_dropout,
        )
        if settings.head_init == "identity":
            for part in (*self.projection, *self.predictor):
                make_identity(part)

    @property
    def dim(self) -> int:
        """Width of query and keys."""
        linear = [m for m in (*self.projection, *self.predictor) if isinstance(m, nn.Linear)]
        return linear[-1].out_features if linear else self.encoder.width

    def forward(self, view: View) -> Float[Tensor, "batch dim"]:
        pooled = self.encoder(view.words, view.mask, view.positions)  # (batch, width)
        return self.predictor(self.projection(self.activation(self.encoder.pooler(pooled))))


def _seeded(settings: Settings, build, *arguments) -> nn.Module:
    """Builds a head from its own seed, so that adding one head does not change another."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return build(*arguments)


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
