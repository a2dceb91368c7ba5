"""A BERT's vector of the first token, without the last layer's work on all the others.

Where [CLS] is the sentence's vector, nobody reads the last layer's other tokens. So its
query, and everything after it, is computed for one token. The result is the whole
model's, up to the rounding of sums; with dropout, in distribution.
"""

import logging

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from mocose_lib import encoder as whole
from mocose_lib.shapes import Mask, Positions, Words

from .dropout import PackedDropout, replace_dropout

log = logging.getLogger(__name__)
KINDS = ("bert", "roberta", "xlm-roberta", "camembert")  # one structure, the same names


def accelerate(encoder: whole.Encoder) -> None:
    """Puts the faster forms into `encoder`, in place.

    An encoder that is not built as BERT keeps its plain pass, and the log says so.
    """
    replace_dropout(encoder.model, PackedDropout)
    config = encoder.model.config
    usual = config.model_type in KINDS and not config.is_decoder
    if usual and config._attn_implementation == "sdpa":
        encoder.hidden_states = hidden_states
    else:
        log.warning("%s is not built as BERT: its slower pass stays", config.model_type)


def hidden_states(
    model: nn.Module,
    words: Words,
    mask: Mask | None,
    positions: Positions | None,
    pooling: str,
) -> tuple[Tensor | None, Tensor]:
    """What `mocose_lib.encoder.hidden_states` gives, with less work."""
    if pooling not in whole.FIRST_TOKEN:
        return whole.hidden_states(model, words, mask, positions, pooling)
    hidden = model.embeddings(inputs_embeds=words, position_ids=positions)
    seen = None if mask is None else mask[:, None, None]  # (batch, 1, 1, length)
    *body, last = model.encoder.layer
    for layer in body:
        hidden = layer(hidden, seen)
    gathered = _attention(last.attention.self, hidden, seen)
    attended = last.attention.output(gathered, hidden[:, 0])
    return None, last.output(last.intermediate(attended), attended)[:, None]


def _attention(
    layer: nn.Module, hidden: Words, seen: Bool[Tensor, "batch 1 1 length"] | None
) -> Float[Tensor, "batch width"]:
    """What the first token gathers from all tokens.

    Its query's product with a token's key is that of (query times key matrix) with
    the token. The weighted sum of values is the value matrix times the weighted sum of
    tokens. So the matrices meet one vector a head instead of every token.
    """
    heads = layer.num_attention_heads
    (key, key_bias), (value, value_bias) = (
        (part.weight.unflatten(0, (heads, -1)), part.bias.unflatten(0, (heads, -1)))
        for part in (layer.key, layer.value)
    )  # (heads, head width, width), (heads, head width)
    query = layer.query(hidden[:, 0]).unflatten(-1, (heads, -1)) * key.shape[1] ** -0.5
    scores = torch.einsum("bhe,hed->bhd", query, key) @ hidden.mT
    scores = scores + (query * key_bias).sum(-1, keepdim=True)
    if seen is not None:
        scores = scores.masked_fill(~seen[:, 0], -torch.inf)
    rate = layer.dropout.p if layer.dropout.training else 0.0
    # (batch, heads, length); drawn as in the layer
    weights = F.dropout(scores.softmax(-1), rate)
    gathered = torch.einsum("bhd,hed->bhe", weights @ hidden, value)
    return (gathered + weights.sum(-1, keepdim=True) * value_bias).flatten(1)
