"""AdamW as torch has it, AdamW as the authors used it, and the course of the rate."""

import torch
from torch.optim import AdamW

from .settings import Settings


def learning_rate(step: int, steps: int, warmup: int) -> float:
    """Factor on the peak rate after `step` steps: a linear rise, then a fall to 0."""
    warmup = min(warmup, steps)
    return min(
        (step + 1) / max(1, warmup), 1 - (step - warmup) / max(1, steps - warmup)
    )


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

    It adds epsilon to the root of the uncorrected second moment, so torch's `eps` is
    epsilon / sqrt(1 - beta2 ** step). The weights decay after the step.
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
