"""The two branches: what they are made of, and that a forward pass changes nothing."""

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from mocose_lib import Encoder, Settings
from mocose_lib.heads import head
from mocose_lib.model import Branch, target_of


def kinds(layers):
    return [type(layer).__name__ for layer in layers]


@pytest.mark.parametrize("layers", range(4))
def test_heads_are_built_by_style(layers):
    projection = ["Linear", "LayerNorm", "Dropout"]
    predictor = projection * (layers - 1) + (["Linear", "Tanh"] if layers else [])
    assert kinds(head(layers, 16, 8, "published", 0.1, 1e-12)) == projection * layers
    assert kinds(head(layers, 8, 8, "published", 0.1, 1e-12, nn.Tanh)) == predictor
    plain = (["Linear", "ReLU"] * layers)[:-1]
    assert kinds(head(layers, 16, 8, "plain", 0.1, 1e-12)) == plain
    assert kinds(head(layers, 8, 8, "plain", 0.1, 1e-12, nn.Tanh)) == plain


@pytest.mark.parametrize("style", ["published", "plain"])
@pytest.mark.parametrize(
    ("p", "q", "dim"), [(0, 0, None), (0, 3, None), (1, 2, 4), (3, 1, 40)]
)
def test_query_and_keys_have_one_width(encoder, view, p, q, dim, style):
    config = Settings(
        projection_layers=p, predictor_layers=q, predictor_dim=dim, heads=style
    )
    online = Branch(encoder, config)
    target = target_of(online, config)
    assert online(view).shape == target(view).shape == (2, dim or 16)
    assert online.dim == target.dim == (dim or 16)


def test_a_branch_equals_its_parts_in_order(encoder, view):
    online = Branch(encoder, Settings(pooler_activation="tanh")).eval()
    x = encoder(view.words, view.mask)  # [CLS]
    x = torch.tanh(x @ encoder.pooler.weight.T + encoder.pooler.bias)
    linear, norm, _ = online.projection
    x = nn.functional.layer_norm(linear(x), (16,), norm.weight, norm.bias, 1e-12)
    first, norm, _, last, _ = online.predictor
    x = torch.tanh(
        last(nn.functional.layer_norm(first(x), (16,), norm.weight, norm.bias, 1e-12))
    )
    torch.testing.assert_close(online(view), x)


def test_the_target_is_the_online_branch_without_predictor_and_gradients(encoder, view):
    """MoCoSE's figure 5: without a predictor both branches are the same function."""
    config = Settings(predictor_layers=0)
    online = Branch(encoder, config).eval()
    target = target_of(online, config).eval()
    torch.testing.assert_close(target(view), online(view))
    assert not any(p.requires_grad for p in target.parameters())
    own = {id(p) for p in online.parameters()}
    assert not any(id(p) in own for p in target.parameters())
    assert len(target_of(Branch(encoder, Settings()), Settings()).predictor) == 0


def test_heads_are_paired_over_a_grid(tiny):
    """Same seed, same projection, however deep the predictor; another seed, another projection."""

    def weight(**changes):
        encoder = Encoder.load(str(tiny))
        torch.manual_seed(3)
        found = Branch(encoder, Settings(**changes)).projection[0].weight
        assert torch.equal(torch.rand(2), torch.rand(2, generator=torch.manual_seed(3)))
        return found

    assert torch.equal(weight(predictor_layers=1), weight(predictor_layers=3))
    assert not torch.equal(weight(seed=1), weight(seed=2))


@pytest.mark.parametrize("heads", ["published", "plain"])
def test_heads_that_start_as_the_identity_hand_the_vectors_on(tiny, heads):
    config = Settings(
        head_init="identity", heads=heads, head_dropout=0.0, projection_layers=2
    )
    encoder = Encoder.load(tiny)
    branch = Branch(encoder, config)
    for layer in (encoder.pooler, *branch.projection, *branch.predictor):
        if isinstance(layer, nn.Linear):
            assert (
                torch.equal(layer.weight, torch.eye(encoder.width))
                and not layer.bias.any()
            )
    narrow = Branch(Encoder.load(tiny), Settings(head_init="identity", predictor_dim=4))
    assert torch.equal(narrow.projection[0].weight, torch.eye(4, encoder.width))
    x = torch.rand(3, encoder.width)  # not negative: a ReLU lets it through
    if heads == "plain":
        assert torch.equal(branch.predictor(branch.projection(encoder.pooler(x))), x)


def test_two_layers_never_start_alike(tiny):
    """Until November 2026 all heads and the pooler had the same random numbers."""
    encoder = Encoder.load(tiny)
    encoder.pooler_trained = False
    branch = Branch(encoder, Settings(projection_layers=3, predictor_layers=3))
    layers = [
        m
        for m in (encoder.pooler, *branch.projection, *branch.predictor)
        if is_linear(m)
    ]
    assert len(layers) == 7 and not any(layer.bias.any() for layer in layers)
    for i, layer in enumerate(layers):
        assert not any(torch.equal(layer.weight, other.weight) for other in layers[:i])
        for other in layers[:i]:  # nor is one the other times a number
            both = torch.stack([layer.weight.flatten(), other.weight.flatten()])
            assert abs(torch.corrcoef(both)[0, 1]) < 0.25


def is_linear(module) -> bool:
    return isinstance(module, nn.Linear)


@pytest.mark.parametrize("width", [128, 256])
def test_fresh_layers_are_drawn_as_bert_draws_them(width):
    """N(0, initializer_range) at any width; torch's default is 0.051 at 128, with biases."""
    shape = dict(
        hidden_size=width, num_attention_heads=2, num_hidden_layers=1, vocab_size=30
    )
    encoder = Encoder(BertModel(BertConfig(**shape)), None)
    branch = Branch(encoder, Settings())
    for layer in filter(
        is_linear, (encoder.pooler, *branch.projection, *branch.predictor)
    ):
        assert layer.weight.std().item() == pytest.approx(0.02, abs=0.002)
        assert abs(layer.weight.mean()) < 0.001 and not layer.bias.any()
    norms = [part for part in branch.modules() if isinstance(part, nn.LayerNorm)]
    assert {norm.eps for norm in norms} == {1e-12}  # that of the encoder
