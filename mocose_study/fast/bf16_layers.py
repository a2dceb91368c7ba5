"""A BERT's layers with bf16 between all of their operations: training in bf16 on a CPU.

Under autocast softmax, attention and LayerNorm give float32, and the products behind them cast it
back. In a small encoder these passes over memory cost more than the products. Here all operations
take and give bf16. Weights stay float32 and are cast for their products. Norms are float32 inside:
for an input in bf16 torch sums the gradients of their weights in bf16, which is a third off.
"""

import torch
from jaxtyping import BFloat16
from torch import Tensor, nn
from torch.nn import functional as F

from mocose_lib.shapes import Mask, Positions, Words

from . import first_token

HALF = torch.bfloat16


def applies(model: nn.Module) -> bool:
    """Whether `states(model, ...)` is what autocast would give, up to the rounding of bf16."""
    asked = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == HALF
    return asked and model.device.type == "cpu" and first_token.applies(model)


def states(
    model: nn.Module, words: Words, mask: Mask | None, positions: Positions | None, first_only: bool
) -> tuple[BFloat16[Tensor, "batch length width"], BFloat16[Tensor, "batch queries width"]]:
    """Output of the embedding layer, and of the last layer at all tokens or at the first alone."""
    embedded = model.embeddings(inputs_embeds=words, position_ids=positions)
    with torch.autocast("cpu", enabled=False):
        hidden = embedded = embedded.to(HALF)
        padding = None if mask is None else ~mask[:, None, None]  # (batch, heads, queries, keys)
        *body, last = model.encoder.layer
        for layer in body:
            hidden = _layer(layer, hidden, hidden, padding)
        asking = hidden[:, :1].contiguous() if first_only else hidden  # a view would be slow
        return embedded, _layer(last, hidden, asking, padding)


def _layer(layer: nn.Module, hidden: Tensor, asking: Tensor, padding: Tensor | None) -> Tensor:
    """What the layer gives for the tokens `asking`, a part of `hidden`."""
    gathered = _attention(layer.attention.self, hidden, asking, padding)
    found = _added(layer.attention.output, gathered, asking)
    inner = layer.intermediate.intermediate_act_fn(_linear(layer.intermediate.dense, found))
    return _added(layer.output, inner, found)


def _attention(layer: nn.Module, hidden: Tensor, asking: Tensor, padding: Tensor | None) -> Tensor:
    query, key, value = (
        _linear(project, x).unflatten(-1, (layer.num_attention_heads, -1)).transpose(1, 2)
        for project, x in ((layer.query, asking), (layer.key, hidden), (layer.value, hidden))
    )  # (batch, heads, tokens, head width)
    scores = query @ key.mT * query.shape[-1] ** -0.5
    if padding is not None:
        scores = scores.masked_fill(padding, -torch.inf)
    return (layer.dropout(scores.softmax(-1)) @ value).transpose(1, 2).flatten(2)


def _added(part: nn.Module, x: Tensor, residual: Tensor) -> Tensor:
    """Linear map, dropout, residual connection and norm: how both halves of a layer end."""
    x = part.dropout(_linear(part.dense, x))
    return part.LayerNorm((x + residual).float()).to(HALF)


def _linear(part: nn.Linear, x: Tensor) -> Tensor:
    return F.linear(x, part.weight.to(HALF), part.bias.to(HALF))
