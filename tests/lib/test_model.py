"""The two branches: what they are made of, and how fresh layers are drawn."""

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from mocose_lib import Encoder, Settings
from mocose_lib.heads import head
from mocose_lib.model import Branch, target_of


@pytest.mark.parametrize("layers", range(4))
def test_heads_are_built_by_style(layers):
    def kinds(*arguments):
        parts = head(layers, *arguments[:3], 0.1, 1e-12, *arguments[3:])
        return [type(layer).__name__ for layer in parts]

    projection = ["Linear", "LayerNorm", "Dropout"]
    predictor = projection * (layers - 1) + (["Linear", "Tanh"] if layers else [])
    plain = (["Linear", "ReLU"] * layers)[:-1]
    assert kinds(16, 8, "published") == projection * layers
    assert kinds(8, 8, "published", nn.Tanh) == predictor
    assert kinds(16, 8, "plain") == kinds(8, 8, "plain", nn.Tanh) == plain


SIZES = [(0, 0, None), (0, 3, None), (1, 2, 4), (3, 1, 40)]


@pytest.mark.parametrize("style", ["published", "plain"])
@pytest.mark.parametrize(("p", "q", "dim"), SIZES)
def test_query_and_keys_have_one_width(encoder, view, p, q, dim, style):
    sizes = dict(projection_layers=p, predictor_layers=q, predictor_dim=dim)
    settings = Settings(heads=style, **sizes)
    online = Branch(encoder, settings)
    target = target_of(online, settings)
    assert online(view).shape == target(view).shape == (2, dim or 16)
    assert online.dim == target.dim == (dim or 16)


def test_heads_are_paired_over_a_grid(tiny):
    """A seed fixes projection and pooler, however deep the predictor."""

    def weight(**changes):
        encoder = Encoder.load(tiny)
        encoder.pooler_trained = False
        torch.manual_seed(3)
        branch = Branch(encoder, Settings(**changes))
        drawn = torch.cat([branch.projection[0].weight, encoder.pooler.weight])
        assert torch.equal(torch.rand(2), torch.rand(2, generator=torch.manual_seed(3)))
        return drawn

    assert torch.equal(weight(predictor_layers=1), weight(predictor_layers=3))
    assert not torch.equal(weight(seed=1), weight(seed=2))


@pytest.mark.parametrize("width", [128, 256])
def test_fresh_layers_are_drawn_as_bert_draws_them(width):
    """N(0, initializer_range) at any width; torch has 0.051 at 128, with biases."""
    shape = dict(hidden_size=width, num_attention_heads=2, num_hidden_layers=1)
    encoder = Encoder(BertModel(BertConfig(**shape, vocab_size=30)), None)
    branch = Branch(encoder, Settings())
    parts = (encoder.pooler, *branch.projection, *branch.predictor)
    for layer in (part for part in parts if isinstance(part, nn.Linear)):
        assert layer.weight.std().item() == pytest.approx(0.02, abs=0.002)
        assert abs(layer.weight.mean()) < 0.001 and not layer.bias.any()
    norms = [part for part in branch.modules() if isinstance(part, nn.LayerNorm)]
    assert {norm.eps for norm in norms} == {1e-12}  # that of the encoder
