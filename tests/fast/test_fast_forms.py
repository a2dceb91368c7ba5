"""Every fast form gives what the plain one gives, or promises in distribution."""

import math

import pytest
import torch
from texts import generator, open_sentences
from torch import nn
from torch.nn import functional as F

from mocose_lib import Encoder
from mocose_lib import encoder as lib
from mocose_study.fast import accelerate, first_token
from mocose_study.fast.dropout import PackedDropout, replace_dropout

SENTENCES = open_sentences(24, start=300)
N = 1 << 20


# --- the vector of the first token ---
def batch(encoder: Encoder, padded: bool, shuffled: bool):
    """ids, mask and positions of SENTENCES, cut to one length where none is padded."""
    ids = encoder.tokenize(SENTENCES)
    if not padded:
        ids = [tokens[: min(map(len, ids))] for tokens in ids]
    ids, mask = encoder.pad(ids)
    order = torch.rand(mask.shape, generator=generator(1)).argsort(1)
    return ids, mask, order if shuffled else None


class FixedDropout(nn.Module):
    """Always drops the same features, and no attention weights (rate `p`)."""

    p = 0.0

    def forward(self, x):
        kept = torch.rand(x.shape[-1], generator=generator(7)) > 0.3
        return x * kept if self.training else x


def passed(encoder: Encoder, ids, mask, positions):
    """Vectors, and the gradient of all parameters as one vector."""
    encoder.zero_grad()
    vectors = encoder(encoder.words(ids), mask, positions)
    vectors.pow(3).sum().backward()
    gradient = torch.cat([p.grad.flatten() for p in encoder.model.parameters()])
    return vectors.detach(), gradient


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("padded", [False, True], ids=["one length", "padded"])
@pytest.mark.parametrize("pooling", ["cls", "first_last"])
def test_vectors_are_those_of_the_plain_pass(
    folder, pooling, padded, shuffled, training
):
    """The next test is about the dropout of attention weights."""
    encoder = Encoder.load(folder, pooling, dropout=0.3).train(training)
    accelerate(encoder)
    assert encoder.hidden_states is not lib.hidden_states
    replace_dropout(encoder, lambda rate: FixedDropout())
    inputs = batch(encoder, padded, shuffled)
    found = passed(encoder, *inputs)
    encoder.hidden_states = lib.hidden_states
    for fast_part, expected in zip(found, passed(encoder, *inputs), strict=True):
        assert (fast_part - expected).norm() < 1e-5 * expected.norm()


def test_first_token_draws_the_dropout_that_torchs_attention_draws(tiny):
    """So a run's numbers stay, whichever of the two has made it."""
    model = Encoder.load(tiny, dropout=0.3).train().model
    layer = model.encoder.layer[0].attention.self
    hidden = torch.randn(5, 7, layer.all_head_size)
    parts, shape = (layer.query, layer.key, layer.value), (5, 7, -1, 8)  # heads, width
    query, key, value = (part(hidden).view(shape).transpose(1, 2) for part in parts)
    torch.manual_seed(3)
    first = F.scaled_dot_product_attention(query[:, :, :1], key, value, dropout_p=0.3)
    torch.manual_seed(3)
    found = first_token._attention(layer, hidden, None)
    torch.testing.assert_close(found, first.flatten(1))


OTHERS = [("model_type", "distilbert"), ("is_decoder", True)]
OTHERS += [("_attn_implementation", "eager")]


@pytest.mark.parametrize("name, value", OTHERS)
def test_an_unknown_structure_keeps_the_plain_pass(tiny, caplog, name, value):
    """And the log says so."""
    encoder = Encoder.load(tiny)
    setattr(encoder.model.config, name, value)
    accelerate(encoder)
    assert encoder.hidden_states is lib.hidden_states and "built as BERT" in caplog.text


# --- dropout ---
def dropped(p: float) -> torch.Tensor:
    torch.manual_seed(1)
    return (PackedDropout(p)(torch.ones(N)) == 0).float()


@pytest.mark.parametrize("p", [0.05, 0.1, 0.5, 0.9])
def test_the_rate_is_p_and_one_seed_gives_one_mask(p):
    assert dropped(p).mean() == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / N))
    assert torch.equal(dropped(p), dropped(p))


@pytest.mark.parametrize("apart", [1, 2, 3, 4, 128])
def test_values_are_dropped_independently_of_each_other(apart):
    """Within one 64-bit number, and across."""
    found = dropped(0.3)
    both = (found[:-apart] * found[apart:]).mean()
    assert both == pytest.approx(0.09, abs=6 * math.sqrt(0.09 * 0.91 / N))


@pytest.mark.parametrize("p", [0.1, 1 / 3, 0.5])
def test_kept_values_and_their_gradients_make_up_for_the_dropped_ones(p):
    torch.manual_seed(0)
    x = torch.randn(64, 33, requires_grad=True)
    y = PackedDropout(p)(x)
    y.sum().backward()
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / (1 - p), rtol=1e-4, atol=0)
    torch.testing.assert_close(x.grad, torch.where(kept, y / x, 0.0).detach())
    assert PackedDropout(p)(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize(("p", "training"), [(0.0, True), (0.5, False)])
def test_nothing_happens_without_training_or_rate(p, training):
    """Replacing keeps both."""
    model = nn.Sequential(nn.Sequential(nn.Dropout(p))).train(training)
    replace_dropout(model, PackedDropout)
    x, state = torch.randn(4), torch.get_rng_state()
    assert type(model[0][0]) is PackedDropout and model[0][0].p == p
    assert torch.equal(model(x), x) and torch.equal(torch.get_rng_state(), state)
