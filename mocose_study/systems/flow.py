"""BERT-flow (Li et al. 2020, section 4; Glow: Kingma and Dhariwal 2018): to a Gaussian.

An invertible network is trained by likelihood on the fixed encoder's vectors (in the
paper first-last averages). Its output is measured. Deviations: it has one scale and no
levels, a fixed random rotation where Glow learns one, and affine couplings. The texts
are those of `whitening`, but one flow serves all test tasks.
"""

import math

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from mocose_lib import Encoder
from mocose_lib.shapes import Scalar, Vectors
from mocose_study.config import Config

from .base import Model, statistics_texts

STEPS = 6  # couplings
WIDTH = 256  # hidden width of a coupling's network


class Step(nn.Module):
    """Normalises features, rotates, and changes one half by functions of the other."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(width))
        self.log_scale = nn.Parameter(torch.zeros(width))
        self.register_buffer("rotation", torch.linalg.qr(torch.randn(width, width))[0])
        self.half = width // 2
        last = nn.Linear(hidden, 2 * (width - self.half))
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.ReLU(), last)
        nn.init.zeros_(last.weight)  # couplings start as the identity
        nn.init.zeros_(last.bias)

    def forward(self, x: Vectors) -> tuple[Vectors, Float[Tensor, " batch"]]:
        """(z, log |det dz/dx|)."""
        x = ((x + self.shift) * self.log_scale.exp()) @ self.rotation
        a, b = x[:, : self.half], x[:, self.half :]
        log_scale, shift = self.net(a).chunk(2, dim=1)
        log_scale = log_scale.tanh()  # the scale lies in (1 / e, e)
        determinant = self.log_scale.sum() + log_scale.sum(1)  # a rotation's is 0
        return torch.cat([a, b * log_scale.exp() + shift], dim=1), determinant


class Flow(Model):
    name, label, colour = "flow", "flow", "#882255"
    reads, own = ("encoder", "corpus"), ("statistics",)
    saved_whole = staticmethod(lambda config: False)
    inputs = staticmethod(statistics_texts)

    def __init__(self, config: Config, encoder: Encoder, inputs: list[str]):
        super().__init__(config, encoder.requires_grad_(False), inputs)
        steps = (Step(encoder.width, WIDTH) for _ in range(STEPS))
        self.steps = nn.ModuleList(steps).to(encoder.device)
        self.vectors = torch.from_numpy(encoder.encode(inputs)).to(encoder.device)
        self.normalise(self.vectors)

    @torch.no_grad()
    def normalise(self, x: Vectors) -> None:
        """Starts each step so that its features have mean 0 and variance 1."""
        for step in self.steps:
            step.shift.copy_(-x.mean(0))
            step.log_scale.copy_(-x.std(0).clamp(min=1e-4).log())
            x = step(x)[0]

    def transform(self, x: Vectors) -> tuple[Vectors, Float[Tensor, " batch"]]:
        total = x.new_zeros(len(x))
        for step in self.steps:
            x, determinant = step(x)
            total = total + determinant
        return x, total

    def batch_loss(self, rows, generator: Generator) -> Scalar:
        return self.loss(self.vectors[torch.from_numpy(rows)])

    def loss(self, x: Vectors) -> Scalar:
        """-log p(x) in nats a feature: that of z ~ N(0, 1), less the determinant."""
        with torch.autocast(x.device.type, enabled=False):
            z, determinant = self.transform(x)
            energy = (z.square().sum(1) - 2 * determinant).mean() / x.shape[1]
            return (energy + math.log(2 * math.pi)) / 2

    def head(self, vectors: Vectors) -> Vectors:
        return self.transform(vectors)[0]
