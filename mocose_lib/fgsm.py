"""FGSM: adversarial noise on the word embeddings (MoCoSE eq. 1)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from .model import View
from .shapes import Words


class FGSM:
    """Adds epsilon sign(gradient) to the word embeddings of both views.

    `source` "current" takes the gradient at this batch, as the paper says, "stale" that which the
    previous step left behind in `gradient`, as the authors' code does.
    """

    def __init__(self, epsilon: float, source: str):
        self.epsilon, self.source = epsilon, source
        self.gradient: Tensor | None = None

    def perturb(
        self, views: list[View], probes: list[Callable[[], tuple[View, Callable]]]
    ) -> None:
        """Moves the embeddings of all views, in place of the old ones.

        Each probe, which only "current" calls, returns a fresh view of the same tokens and the
        function from that view to the loss. One serves all views where they hold the same tokens.
        """
        if self.epsilon == 0:
            return
        if self.source == "current":
            gradients = []
            for probe in probes:
                view, loss_of = probe()
                view.words = view.words.detach().requires_grad_()
                gradients += torch.autograd.grad(loss_of(view), view.words)
        else:
            gradients = [self.gradient]
            views[0].words.register_hook(
                lambda g: setattr(self, "gradient", g.detach())
            )
        for i, view in enumerate(views):
            view.words = moved(view.words, gradients[i % len(gradients)], self.epsilon)


def moved(
    words: Words, gradient: Float[Tensor, "b l width"] | None, epsilon: float
) -> Words:
    """x + epsilon sign(gradient of the loss at x) (MoCoSE eq. 1); x where there is none yet.

    The gradient of another batch is cut or filled with zeros to the shape of `words`.
    """
    if gradient is None or epsilon == 0:
        return words
    rows, length = (
        new - old for new, old in zip(words.shape[:2], gradient.shape[:2], strict=True)
    )
    return words + epsilon * F.pad(gradient, (0, 0, 0, length, 0, rows)).sign()
