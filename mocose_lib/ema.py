"""Exponential moving average of the online branch (MoCoSE eq. 2) and its decay over time."""

import math

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from .settings import Settings


def decay_at(step: int, settings: Settings) -> float:
    """The decay eta with which the target is updated before the forward pass of `step`.

    Steps count from 1. The decay is constant, or it follows a half cosine from `ema_decay` to
    `ema_decay_end` over `ema_horizon` steps (0.75, 0.95, all steps in the paper's section 4.1).
    Then "cosine" keeps the end value; "published" goes on along the cosine, back to the start.
    """
    if settings.ema_schedule == "constant":
        return settings.ema_decay
    progress = step / (settings.ema_horizon or settings.steps)
    if settings.ema_schedule == "cosine":
        progress = min(1.0, progress)
    left = (math.cos(math.pi * progress) + 1) / 2
    return settings.ema_decay_end - (settings.ema_decay_end - settings.ema_decay) * left


@torch.no_grad()
def update_ema(target: nn.Module, online: nn.Module, decay: float) -> None:
    """theta_target <- decay theta_target + (1 - decay) theta_online, in place (MoCoSE eq. 2).

    Parameters are paired by name; those that the two share stay as they are.
    """
    sources = dict(online.named_parameters())
    pairs = [
        (p, sources[name])
        for name, p in target.named_parameters()
        if p is not sources[name]
    ]
    averaged, current = zip(*pairs, strict=True)
    get_ema_multi_avg_fn(decay)(averaged, current, None)
