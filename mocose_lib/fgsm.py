"""FGSM: adversarial noise on the word embeddings (MoCoSE eq. 1)."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from .shapes import Words


def moved(
    words: Words, gradient: Float[Tensor, "b l width"] | None, epsilon: float
) -> Words:
    """x + epsilon sign(gradient of the loss at x) (MoCoSE eq. 1); x without a gradient.

    The gradient of another batch is cut or filled with zeros to the shape of `words`.
    """
    if gradient is None or epsilon == 0:
        return words
    rows, length = (words.shape[i] - gradient.shape[i] for i in (0, 1))
    return words + epsilon * F.pad(gradient, (0, 0, 0, length, 0, rows)).sign()
