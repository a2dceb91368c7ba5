"""The encoder as it comes: [CLS], mean or first-last average (MoCoSE Table 1)."""

from .base import Fitted, System, load_encoder


class Untrained(System):
    name, label, colour = "untrained", "untrained", "#4D4D4D"
    reads, own = ("encoder",), ()
    draws, pooler = False, True
    saved_whole = staticmethod(lambda config: True)

    @staticmethod
    def fit(config, checkpoint=None, device="cpu", bar=True) -> Fitted:
        encoder = load_encoder(config, device)
        return Fitted(encoder.encode, encoder=encoder)
