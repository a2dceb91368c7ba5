"""Exponential moving average of the online branch (MoCoSE eq. 2) and its decay."""

import math

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from .settings import Settings


def decay_at(step: int, settings: Settings) -> float:
    """The decay eta with which the target is updated before the forward pass of `step`.

    Steps count from 1. The decay follows half a cosine from the first value of
    `ema_decay` to the second (section 4.1: 0.75 to 0.95), and back from `ema_horizon`.
    """
    start, end = settings.decays
    share = step / (settings.ema_horizon * settings.steps)
    return end - (end - start) * (math.cos(math.pi * share) + 1) / 2


@torch.no_grad()
def update_ema(target: nn.Module, online: nn.Module, decay: float) -> None:
    """theta_target <- decay theta_target + (1 - decay) theta_online (MoCoSE eq. 2).

    Parameters are paired by name; those that the two share stay as they are.
    """
    current = dict(online.named_parameters())
    own = {n: p for n, p in target.named_parameters() if p is not current[n]}
    get_ema_multi_avg_fn(decay)(list(own.values()), [current[n] for n in own], None)
