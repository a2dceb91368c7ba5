"""The two branches of MoCoSE (Figure 1): forward passes only, no side effects."""

import copy
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .config import Config
from .encoder import Encoder, pass_through


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

    def __init__(self, encoder: Encoder, config: Config):
        super().__init__()
        width, dim = encoder.width, config.predictor_dim or encoder.width
        self.encoder = encoder
        self.activation = nn.Tanh() if config.pooler_activation == "tanh" else nn.Identity()
        self.projection = _seeded(
            config, projection, config.projection_layers, width, dim, config.heads,
            config.head_dropout)  # fmt: skip
        self.predictor = _seeded(
            config, predictor, config.predictor_layers, dim, config.heads, config.head_dropout
        )
        if config.head_init == "identity":
            for part in (*self.projection, *self.predictor):
                pass_through(part)

    @property
    def dim(self) -> int:
        """Width of query and keys."""
        linear = [m for m in (*self.projection, *self.predictor) if isinstance(m, nn.Linear)]
        return linear[-1].out_features if linear else self.encoder.width

    def forward(self, view: View) -> Float[Tensor, "batch dim"]:
        pooled = self.encoder(view.words, view.mask, view.positions)  # (batch, width)
        return self.predictor(self.projection(self.activation(self.encoder.pooler(pooled))))


def _seeded(config: Config, build, *arguments) -> nn.Module:
    """Builds a head from its own seed, so that adding one head does not change another."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return build(*arguments)


def target_of(online: Branch, config: Config) -> Branch:
    """A copy of `online` without predictor and gradients: MoCoSE's target branch."""
    target = copy.deepcopy(online).requires_grad_(False)
    target.predictor = nn.Sequential()
    if config.shared_embeddings:
        target.encoder.model.embeddings = online.encoder.model.embeddings
    if config.target_projection_trained:
        target.projection.requires_grad_(True)
    return target
