"""A BERT's vector of the first token, without the last layer's work on all the others.

Their outputs are read by nobody where [CLS] is the sentence's vector. Keys and values of the last
layer need every token; its query, attention output and feed-forward part need one. What comes out
is what the whole model gives, up to the rounding of sums, after as many random numbers.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

KINDS = ("bert", "roberta", "xlm-roberta", "camembert")  # one structure, the same names


def applies(model: nn.Module) -> bool:
    """Whether `first_token(model, ...)` is what the whole model would give.

    Not on a GPU while dropout is on, where the fused attention draws numbers of its own, nor where
    a dropout module or the attention has been replaced.
    """
    settings = model.config
    usual = settings._attn_implementation == "sdpa" and not settings.is_decoder
    if settings.model_type not in KINDS or not usual:
        return False
    dropouts = _dropouts(model.encoder.layer[-1])
    if any(type(module) is not nn.Dropout for module in dropouts):
        return False
    on_cpu = model.get_input_embeddings().weight.device.type == "cpu"
    return on_cpu or not any(module.training and module.p > 0 for module in dropouts)


def _dropouts(layer: nn.Module) -> tuple[nn.Module, ...]:
    return layer.attention.self.dropout, layer.attention.output.dropout, layer.output.dropout


def first_token(
    model: nn.Module,
    words: Float[Tensor, "batch length width"],
    mask: Bool[Tensor, "batch length"] | None,
    positions: Int[Tensor, "batch length"] | None = None,
) -> Float[Tensor, "batch width"]:
    """The last layer's output at the first token, from word embeddings; no mask: no padding."""
    hidden = model.embeddings(inputs_embeds=words, position_ids=positions)
    seen = None if mask is None else mask[:, None, None]  # (batch, heads, queries, keys)
    *body, last = model.encoder.layer
    for layer in body:
        hidden = layer(hidden, seen)
    first, shape = hidden[:, 0], hidden.shape
    after = last.attention.output
    found = after.dense(_attention(last.attention.self, hidden, seen))
    first = after.LayerNorm(_dropped(found, shape, after.dropout) + first)
    after = last.output
    found = after.dense(last.intermediate(first))
    return after.LayerNorm(_dropped(found, shape, after.dropout) + first)


def _attention(
    layer: nn.Module,
    hidden: Float[Tensor, "batch length width"],
    seen: Bool[Tensor, "batch 1 1 length"] | None,
) -> Float[Tensor, "batch width"]:
    """What the first token gathers from all tokens."""
    heads, length = layer.num_attention_heads, hidden.shape[1]
    query, key, value = (
        project(x).unflatten(-1, (heads, -1)).transpose(1, 2)  # (batch, heads, tokens, head width)
        for project, x in ((layer.query, hidden[:, :1]), (layer.key, hidden), (layer.value, hidden))
    )
    if not (layer.dropout.training and layer.dropout.p):
        return F.scaled_dot_product_attention(query, key, value, seen).flatten(1)
    with torch.autocast(query.device.type, enabled=False):  # in float32, as within torch's own
        scores = query.float() @ key.float().transpose(2, 3) * layer.scaling
        if seen is not None:
            scores = scores.masked_fill(~seen, -torch.inf)
        whole = torch.Size((len(hidden), heads, length, length))
        share = _dropped(scores.softmax(-1), whole, layer.dropout)
        return (share @ value.float()).to(query.dtype).flatten(1)


def _dropped(x: Tensor, whole: torch.Size, dropout: nn.Dropout) -> Tensor:
    """Dropout of `x`, the first token's part of a tensor of shape `whole`, with the mask that
    the whole would get."""
    if not (dropout.training and dropout.p):
        return x
    kept = torch.empty(whole, dtype=torch.bool, device=x.device).bernoulli_(1 - dropout.p)
    return x * kept.select(-2, 0).view_as(x).to(x.dtype).div_(1 - dropout.p)
