"""The optimiser of a training, and the AdamW of transformers 4."""

import torch
from torch import nn
from torch.optim import AdamW, Optimizer

from .encoder import Encoder
from .settings import Settings


class TransformersAdamW(Optimizer):
    """AdamW as transformers 4 had it, which the authors used.

    Epsilon is added before the bias correction of the second moment, and the weights decay after
    the step. torch.optim.AdamW does both the other way round.
    """

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(
            params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        )

    @torch.no_grad()
    def step(self, closure=None) -> None:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state |= {"step": 0, "mean": p.new_zeros(p.shape)}
                    state["square"] = p.new_zeros(p.shape)
                state["step"] += 1
                state["mean"].lerp_(p.grad, 1 - beta1)
                state["square"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                corrected = (1 - beta2 ** state["step"]) ** 0.5 / (
                    1 - beta1 ** state["step"]
                )
                root = state["square"].sqrt().add_(group["eps"])
                p.addcdiv_(state["mean"], root, value=-group["lr"] * corrected)
                p.add_(p, alpha=-group["lr"] * group["weight_decay"])


def make_optimizer(settings: Settings, online: nn.Module, more=()) -> Optimizer:
    """Trains all parameters of `online`, and `more`; biases and LayerNorms do not decay.

    The encoders' pre-trained models learn at `lr`, everything else at `head_lr`.
    """
    models = [part.model for part in online.modules() if isinstance(part, Encoder)]
    pretrained = {id(p) for model in models for p in model.parameters()}
    groups: dict[tuple[float, float], list] = {}
    for p in (*online.parameters(), *more):
        rate = settings.lr if id(p) in pretrained else settings.head_lr
        decay = settings.weight_decay if p.ndim > 1 else 0.0
        groups.setdefault((rate, decay), []).append(p)
    parameters = [
        {"params": params, "lr": rate, "weight_decay": decay}
        for (rate, decay), params in groups.items()
    ]
    if settings.optimizer == "transformers_adamw":
        return TransformersAdamW(parameters, lr=settings.lr)
    return AdamW(parameters, lr=settings.lr, fused=True)
