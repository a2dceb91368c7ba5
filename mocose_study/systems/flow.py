"""BERT-flow (Li et al. 2020, section 4; after Glow, Kingma and Dhariwal 2018): to a Gaussian.

An invertible network is trained by likelihood on the fixed encoder's vectors (the paper's:
first-last averages); its output is measured. Deviations: one scale, no levels; a fixed random
rotation where Glow learns one; affine couplings; texts as in `whitening`.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mocose_study.config import Config
from mocose_lib.encoder import Encoder
from mocose_study.systems.base import Fitted, System, load_encoder, statistics_texts, train_system

Vectors = Float[Tensor, "n width"]


class Step(nn.Module):
    """Normalise every feature, rotate, and shift and scale one half as the other one says."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.shift, self.log_scale = (nn.Parameter(torch.zeros(width)) for _ in range(2))
        self.register_buffer("rotation", torch.linalg.qr(torch.randn(width, width))[0])
        self.half = width // 2
        last = nn.Linear(hidden, 2 * (width - self.half))
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.ReLU(), last)
        nn.init.zeros_(last.weight)  # couplings start as the identity
        nn.init.zeros_(last.bias)

    def coupling(
        self, a: Float[Tensor, "n half"]
    ) -> tuple[Float[Tensor, "n rest"], Float[Tensor, "n rest"]]:
        """(log of the scale, shift) of the other half; the scale lies in (1 / e, e)."""
        log_scale, shift = self.net(a).chunk(2, dim=1)
        return log_scale.tanh(), shift

    def forward(self, x: Vectors) -> tuple[Vectors, Float[Tensor, " n"]]:
        """(z, log |det dz/dx|)."""
        x = ((x + self.shift) * self.log_scale.exp()) @ self.rotation
        a, b = x[:, : self.half], x[:, self.half :]
        log_scale, shift = self.coupling(a)
        determinant = self.log_scale.sum() + log_scale.sum(1)  # a rotation's is 0
        return torch.cat([a, b * log_scale.exp() + shift], dim=1), determinant

    def inverse(self, z: Vectors) -> Vectors:
        a, b = z[:, : self.half], z[:, self.half :]
        log_scale, shift = self.coupling(a)
        x = torch.cat([a, (b - shift) * (-log_scale).exp()], dim=1)
        return x @ self.rotation.T * (-self.log_scale).exp() - self.shift

    @torch.no_grad()
    def normalise(self, x: Vectors) -> None:
        """Starts shift and scale so that every feature of `x` has mean 0 and variance 1."""
        self.shift.copy_(-x.mean(0))
        self.log_scale.copy_(-x.std(0).clamp(min=1e-4).log())


class Flow(System):
    def __init__(self, encoder: Encoder, config: Config):
        super().__init__()
        self.encoder = encoder.requires_grad_(False)
        self.steps = nn.ModuleList(
            Step(encoder.width, config.flow_width) for _ in range(config.flow_steps)
        ).to(encoder.device)

    def transform(self, x: Vectors) -> tuple[Vectors, Float[Tensor, " n"]]:
        total = x.new_zeros(len(x))
        for step in self.steps:
            x, determinant = step(x)
            total = total + determinant
        return x, total

    def inverse(self, z: Vectors) -> Vectors:
        for step in reversed(self.steps):
            z = step.inverse(z)
        return z

    def loss(self, x: Vectors) -> Float[Tensor, ""]:
        """-log p(x) in nats a feature: that of z, standard Gaussian, less the determinant."""
        with torch.autocast(x.device.type, enabled=False):
            z, determinant = self.transform(x)
            energy = (z.square().sum(1) - 2 * determinant).mean() / x.shape[1]
            return (energy + math.log(2 * math.pi)) / 2

    @torch.no_grad()
    def normalise(self, x: Vectors) -> None:
        for step in self.steps:
            step.normalise(x)
            x = step(x)[0]

    def head(self, vectors: Vectors) -> Vectors:
        return self.transform(vectors)[0]


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    torch.manual_seed(config.seed)
    encoder = load_encoder(config, device)
    system = Flow(encoder, config)
    vectors = torch.from_numpy(encoder.encode(statistics_texts(config))).to(device)
    system.normalise(vectors)

    def loss(rows, generator):
        return system.loss(vectors[torch.from_numpy(rows)])

    progress = train_system(config, system, loss, np.zeros(len(vectors)), checkpoint, bar)
    return Fitted(system.encode, progress)
