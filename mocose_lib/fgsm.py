"""FGSM: adversarial noise on the word embeddings (MoCoSE eq. 1).

The paper takes the gradient of the present input. The authors' code takes the one that the
previous step left behind, which belongs to other sentences. Both are here.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from .model import View


class FGSM:
    """Adds epsilon sign(gradient) to the word embeddings of both views.

    `source` "current" computes the gradient of the loss at this batch's embeddings, by a forward
    and a backward pass of its own. "stale" uses the gradient of the previous step, `gradient`.
    """

    def __init__(self, epsilon: float, source: str):
        self.epsilon, self.source = epsilon, source
        self.gradient: Tensor | None = None

    def perturb(
        self, views: list[View], probes: list[Callable[[], tuple[View, Callable]]]
    ) -> None:
        """Moves the embeddings of all views, in place of the old ones.

        A probe returns a fresh view of the same tokens and the function from that view to the
        loss. One probe serves all views where they hold the same tokens; else each view has its
        own. The "current" variant alone calls them.
        """
        if self.epsilon == 0:
            return
        if self.source == "current":
            gradients = [loss_gradient(*probe()) for probe in probes]
        else:
            gradients = [self.gradient]
            if views[0].words.requires_grad:  # not while the heads are trained alone
                views[0].words.register_hook(self._keep)
        for i, view in enumerate(views):
            gradient = gradients[i % len(gradients)]
            view.words = moved(view.words, gradient, self.epsilon)

    def _keep(self, gradient: Tensor) -> None:
        self.gradient = gradient.detach()


def loss_gradient(
    view: View, loss_of: Callable[[View], Tensor]
) -> Float[Tensor, "batch length width"]:
    """The gradient of `loss_of(view)` at the word embeddings of the view."""
    view.words = view.words.detach().requires_grad_()
    return torch.autograd.grad(loss_of(view), view.words)[0]


def moved(
    embeddings: Float[Tensor, "batch length width"],
    gradient: Float[Tensor, "batch length width"] | None,
    epsilon: float,
) -> Float[Tensor, "batch length width"]:
    """x + epsilon sign(gradient of the loss at x) (MoCoSE eq. 1); x where there is none yet."""
    if gradient is None or epsilon == 0:
        return embeddings
    return embeddings + epsilon * fitted(gradient, embeddings.shape).sign()


def fitted(
    gradient: Float[Tensor, "a l width"], shape: torch.Size
) -> Float[Tensor, "batch length width"]:
    """Another batch's gradient, cut or filled with zeros to `shape`."""
    if gradient.shape == shape:
        return gradient
    result = gradient.new_zeros(shape)
    rows, length = min(shape[0], gradient.shape[0]), min(shape[1], gradient.shape[1])
    result[:rows, :length] = gradient[:rows, :length]
    return result
