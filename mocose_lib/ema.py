"""Exponential moving average of the online branch (MoCoSE eq. 2) and its decay."""

import math

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from .settings import Settings


def decay_at(step: int, settings: Settings) -> float:
    """The decay eta with which the target is updated before the forward pass of `step`.

    Steps count from 1. "constant" is `ema_decay`. "cosine" goes along half a cosine from
    `ema_decay` to `ema_decay_end` over all steps (section 4.1: from 0.75 to 0.95).
    "published" goes to 1 over `ema_horizon` of the steps, and back behind them.
    """
    share, end = step / settings.steps, settings.ema_decay_end
    if settings.ema_schedule == "constant":
        return settings.ema_decay
    if settings.ema_schedule == "published":
        share, end = share / settings.ema_horizon, 1.0
    else:
        share = min(1.0, share)
    left = (math.cos(math.pi * share) + 1) / 2
    return end - (end - settings.ema_decay) * left


@torch.no_grad()
def update_ema(target: nn.Module, online: nn.Module, decay: float) -> None:
    """theta_target <- decay theta_target + (1 - decay) theta_online (MoCoSE eq. 2).

    Parameters are paired by name; those that the two share stay as they are.
    """
    current = dict(online.named_parameters())
    own = {n: p for n, p in target.named_parameters() if p is not current[n]}
    get_ema_multi_avg_fn(decay)(list(own.values()), [current[n] for n in own], None)
