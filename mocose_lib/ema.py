"""Exponential moving average of the online branch (MoCoSE eq. 2) and its decay over time."""

import math

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from .config import Config


def decay_at(step: int, config: Config) -> float:
    """The decay eta after `step` (counted from 1) optimiser steps.

    Constant, or a half cosine from `ema_decay` to `ema_decay_end` over `ema_horizon` steps,
    and the end value from there on. With (0.75, 0.95, all steps) this is the paper's section
    4.1, with (0.75, 1, 15,000) the authors' code, where the cosine would turn back after
    its horizon; here it does not.
    """
    if config.ema_schedule == "constant":
        return config.ema_decay
    progress = min(1.0, step / (config.ema_horizon or config.steps))
    left = (math.cos(math.pi * progress) + 1) / 2
    return config.ema_decay_end - (config.ema_decay_end - config.ema_decay) * left


@torch.no_grad()
def update_ema(target: nn.Module, online: nn.Module, decay: float) -> None:
    """theta_target <- decay theta_target + (1 - decay) theta_online, in place (MoCoSE eq. 2).

    Every parameter of `target` must exist in `online` under the same name; those that the two
    share stay as they are.
    """
    sources = dict(online.named_parameters())
    pairs = [(p, sources[name]) for name, p in target.named_parameters() if p is not sources[name]]
    averaged, current = zip(*pairs, strict=True)
    get_ema_multi_avg_fn(decay)(averaged, current, None)
