"""The encoder as it comes: [CLS], mean or first-last average, no training (MoCoSE Table 1)."""

from .base import Fitted, load_encoder


def inputs(config, encoder, bar=False) -> None:
    """Nothing is trained."""


def fit(config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    encoder = load_encoder(config, device)
    return Fitted(encoder.encode, encoder=encoder)
