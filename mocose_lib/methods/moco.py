"""MoCo for text (He et al. 2020, Algorithm 1): MoCoSE without predictor and without FGSM."""

from ..config import Config, vary
from . import mocose
from .base import Fitted


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    return mocose.fit(vary(config, predictor_layers=0), checkpoint, device, bar)
