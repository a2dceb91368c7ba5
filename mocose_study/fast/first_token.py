"""A BERT's vector of the first token, without the last layer's work on all the others.

Nobody reads the others where [CLS] is the sentence's vector. Only keys and values of the last
layer need every token. The result is the whole model's, up to the rounding of sums; with dropout,
in distribution.
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from mocose_lib.shapes import Mask, Positions, Vectors, Words

KINDS = ("bert", "roberta", "xlm-roberta", "camembert")  # one structure, the same names
PARTS = {"attention.self.query", "attention.self.dropout", "intermediate.dense", "output.LayerNorm"}


def applies(model: nn.Module) -> bool:
    """Whether `first_token(model, ...)` is what the whole model would give."""
    config = model.config
    usual = config._attn_implementation == "sdpa" and not getattr(config, "is_decoder", False)
    if not usual or config.model_type not in KINDS:
        return False
    names = {name for name, _ in model.encoder.layer[-1].named_modules()}
    return names >= PARTS


def first_token(
    model: nn.Module, words: Words, mask: Mask | None, positions: Positions | None = None
) -> Vectors:
    """The last layer's output at the first token, from word embeddings; no mask: no padding."""
    hidden = model.embeddings(inputs_embeds=words, position_ids=positions)
    seen = None if mask is None else mask[:, None, None]  # (batch, heads, queries, keys)
    *body, last = model.encoder.layer
    for layer in body:
        hidden = layer(hidden, seen)
    found = last.attention.output(_attention(last.attention.self, hidden, seen), hidden[:, 0])
    return last.output(last.intermediate(found), found)


def _attention(
    layer: nn.Module, hidden: Words, seen: Bool[Tensor, "batch 1 1 length"] | None
) -> Float[Tensor, "batch width"]:
    """What the first token gathers from all tokens."""
    query, key, value = (
        project(x).unflatten(-1, (layer.num_attention_heads, -1)).transpose(1, 2)
        for project, x in ((layer.query, hidden[:, :1]), (layer.key, hidden), (layer.value, hidden))
    )  # (batch, heads, tokens, head width)
    rate = layer.dropout.p if layer.dropout.training else 0.0
    return F.scaled_dot_product_attention(query, key, value, seen, dropout_p=rate).flatten(1)
