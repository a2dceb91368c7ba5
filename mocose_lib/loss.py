"""InfoNCE (MoCoSE eq. 3; with the batch's keys as negatives: SimCSE eq. 1 and 5)."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from .shapes import Scalar, Vectors


def info_nce(
    query: Vectors,
    keys: Vectors,
    negatives: Float[Tensor, "n dim"],
    temperature: float,
    similarity: str = "cosine",
    batch_negatives: bool = False,
    own: float = 0.0,
) -> Scalar:
    """Mean of -log exp(q.k/t) / (exp(q.k/t) + sum_l exp(q.l/t)) over rows, in nats.

    `keys[i]` is the positive of `query[i]`; l runs over `negatives` and, with
    `batch_negatives`, over the other keys. `own` is added to the logit of negatives[i]
    for query[i]. In float32 at least, also under autocast: a bf16 cosine / 0.05 is off
    by a tenth.
    """
    with torch.autocast(query.device.type, enabled=False):
        kind = torch.promote_types(query.dtype, torch.float32)
        query, keys, negatives = (x.to(kind) for x in (query, keys, negatives))
        if similarity == "cosine":
            query, keys, negatives = map(F.normalize, (query, keys, negatives))
        if batch_negatives:
            positive = query @ keys.T  # (batch, batch), the positives on the diagonal
            answer = torch.arange(len(query), device=query.device)
        else:
            positive = (query * keys).sum(-1, keepdim=True)  # (batch, 1)
            answer = torch.zeros(len(query), dtype=torch.long, device=query.device)
        logits = torch.cat([positive, query @ negatives.T], dim=1) / temperature
        if own:
            logits[:, positive.shape[1] :].diagonal().add_(own)
        return F.cross_entropy(logits, answer)
