"""AdamW as torch has it, AdamW as the authors used it, and the course of the rate."""

import torch
from torch.optim import AdamW

from .settings import Settings


def learning_rate(step: int, steps: int, warmup: int) -> float:
    """Factor on the peak rate after `step` steps: the smaller one of two lines.

    One rises over the warm-up, at most over all steps; one falls to 0 over all steps.
    """
    return min((step + 1) / max(1, min(warmup, steps)), 1.0, 1 - step / steps)


def make_optimizer(settings: Settings, trained: list) -> AdamW:
    """Trains the parameters at `lr`; biases and LayerNorms do not decay."""
    groups = {0.0: [], settings.weight_decay: []}
    for p in trained:
        groups[settings.weight_decay if p.ndim > 1 else 0.0].append(p)
    groups = [{"params": ps, "weight_decay": d} for d, ps in groups.items() if ps]
    if settings.optimizer == "transformers_adamw":
        return TransformersAdamW(groups, lr=settings.lr)
    return AdamW(groups, lr=settings.lr, fused=True)


class TransformersAdamW(AdamW):
    """AdamW as transformers 4 had it, which the authors used.

    Epsilon is added before the bias correction of the second moment: torch's epsilon
    over the root of that correction. The weights decay after the step.
    """

    @torch.no_grad()
    def step(self, closure=None) -> None:
        decays = [group["weight_decay"] for group in self.param_groups]
        for group in self.param_groups:
            group["taken"] = group.get("taken", 0) + 1
            correction = 1 - group["betas"][1] ** group["taken"]
            group |= {"weight_decay": 0.0, "eps": 1e-8 / correction**0.5}
        super().step()
        for group, decay in zip(self.param_groups, decays, strict=True):
            group["weight_decay"] = decay
            for p in group["params"]:
                if p.grad is not None:
                    p.mul_(1 - group["lr"] * decay)
