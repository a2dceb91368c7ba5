"""The two branches of MoCoSE (Figure 1): forward passes only, no side effects."""

import copy
from dataclasses import dataclass

import torch
from torch import nn

from .encoder import Encoder
from .heads import draw_layers, head
from .settings import Settings
from .shapes import Mask, Positions, Vectors, Words


@dataclass
class View:
    """One augmented version of a batch, as the encoder receives it."""

    words: Words
    mask: Mask
    positions: Positions | None = None


class Branch(nn.Module):
    """encoder -> pooler -> projection -> predictor; query and keys are `dim` wide.

    Fresh layers are drawn by `draw_layers`. A trained pooler stays as it is.
    """

    def __init__(self, encoder: Encoder, settings: Settings):
        super().__init__()
        self.encoder, width = encoder, encoder.width
        self.dim = dim = settings.predictor_dim or width
        tanh = settings.pooler_activation == "tanh"
        self.activation = nn.Tanh() if tanh else nn.Identity()
        how = (settings.heads, settings.head_dropout, encoder.layer_norm_eps)
        with torch.random.fork_rng(devices=[]):  # what torch draws for them is not used
            self.projection = head(settings.projection_layers, width, dim, *how)
            self.predictor = head(settings.predictor_layers, dim, dim, *how, nn.Tanh)
        fresh = {"projection": self.projection, "predictor": self.predictor}
        if not encoder.pooler_trained:
            fresh["pooler"] = encoder.pooler
        draw_layers(nn.ModuleDict(fresh), settings.seed, encoder.initializer_range)
        encoder.pooler_trained = True

    def forward(self, view: View) -> Vectors:
        first = self.encoder(view.words, view.mask, view.positions)  # (batch, width)
        pooled = self.activation(self.encoder.pooler(first))
        return self.predictor(self.projection(pooled))


def target_of(online: Branch, settings: Settings) -> Branch:
    """A copy of `online` without predictor; what is shared or trained has gradients."""
    target = copy.deepcopy(online).requires_grad_(False)
    target.predictor = nn.Sequential()
    source, model = online.encoder.model, target.encoder.model
    if settings.shared_embeddings and hasattr(source, "embeddings"):
        model.embeddings = source.embeddings
    elif settings.shared_embeddings:  # positions have no table of their own there
        model.set_input_embeddings(source.get_input_embeddings())
    if settings.target_projection_trained:
        target.projection.requires_grad_(True)
    return target
