"""Large batches in little memory: an encoder that reads a batch part by part."""

from functools import partial

import torch
from torch.utils.checkpoint import checkpoint

from mocose_lib import Encoder


def encode_by_parts(encoder: Encoder, rows: int) -> None:
    """Has `encoder` read `rows` sentences of a batch at a time, in place.

    A part's activations are dropped after its forward pass and computed again, with the same
    dropout, when its gradient is due (Chen et al. 2016; for contrastive losses Gao et al. 2021,
    "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup"). So the memory of a
    batch is that of a part. Every loss still sees the whole batch, which the accumulation of
    gradients over smaller batches would not give. It costs a second forward pass.
    """
    whole = encoder.states

    def states(model, words, mask, positions, pooling):
        inputs = (None if x is None else x.split(rows) for x in (words, mask, positions))
        parts = [x or (None,) * -(-len(words) // rows) for x in inputs]
        read = partial(checkpoint, whole, use_reentrant=False) if torch.is_grad_enabled() else whole
        found = [read(model, *part, pooling) for part in zip(*parts, strict=True)]
        embedded, last = zip(*found, strict=True)
        return None if embedded[0] is None else torch.cat(embedded), torch.cat(last)

    encoder.states = states
