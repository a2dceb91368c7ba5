"""MoCoSE (Cao et al., Findings of ACL 2022), equations 1-3, Algorithm 1; all of it in `train`."""

import torch

from ..train import encode_as, train
from .base import Fitted, load_encoder, training_ids


def fit(config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    torch.manual_seed(config.seed)  # a checkpoint without pooler gets a fresh one here
    encoder = load_encoder(config, device)
    progress = train(config, encoder, training_ids(config, encoder, bar), checkpoint, bar)
    return Fitted(encode_as(config, encoder), progress)
