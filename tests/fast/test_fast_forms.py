"""Every fast path gives what the plain one gives."""

from functools import partial

import pytest
import torch
from torch import nn

from mocose_lib import encoder as encoders
from mocose_study.fast import bf16_layers as half_layers
from mocose_lib import learner
from mocose_study.data import world
from mocose_study.fast.dropout import replace_dropout
from mocose_lib.encoder import Encoder
from mocose_study.fast.first_token import applies
from mocose_study.systems import METHODS

SENTENCES = world.sentences(24, seed=3)


@pytest.fixture(params=["bert", "roberta"])
def folder(request, tiny, tiny_roberta):
    return str(tiny if request.param == "bert" else tiny_roberta)


@pytest.fixture
def whole(monkeypatch):
    """whole(): from here on the last layer computes every token."""
    return lambda: monkeypatch.setattr(encoders, "applies", lambda model: False)


def batch(encoder: Encoder, padded: bool, shuffled: bool):
    """ids, mask and positions of some sentences, cut to one length where none is padded."""
    ids = encoder.tokenize(SENTENCES)
    if not padded:
        ids = [tokens[: min(map(len, ids))] for tokens in ids]
    ids, mask = encoder.pad(ids)
    order = torch.rand(mask.shape, generator=torch.Generator().manual_seed(1)).argsort(1)
    return ids, mask, order if shuffled else None


class FixedDropout(nn.Module):
    """Always the same mask of (batch, `length`, width), or, of attention weights, of (batch, heads,
    `length`, `length`); the first token's part alone gets its part."""

    def __init__(self, p: float, length: int):
        super().__init__()
        self.p, self.length = p, length

    def forward(self, x):
        if not self.training:
            return x
        kept = drawn(*x.shape[: max(1, x.ndim - 2)], self.length, x.shape[-1]) > self.p
        return x * (kept[:, 0] if x.ndim == 2 else kept[..., : x.shape[-2], :])


def drawn(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(7))


def attention(query, key, value, attn_mask=None, dropout_p=0.0, **_):
    """torch's, with always the same mask of (batch, heads, length, length) or of its first row."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    kept = drawn(*key.shape[:3], key.shape[2]) > dropout_p
    return (scores.softmax(-1) * kept[:, :, : query.shape[2]]) @ value


def fix_masks(encoder: Encoder, length: int, monkeypatch) -> None:
    """Dropout of `encoder` always drops the same, whether all tokens are computed or the first."""
    replace_dropout(encoder, partial(FixedDropout, length=length))
    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", attention)


def passed(encoder: Encoder, ids, mask, positions, half=False):
    """Vectors, and the gradient of all parameters as one vector."""
    encoder.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        vectors = encoder(encoder.words(ids), mask, positions)
    vectors.float().pow(3).sum().backward()
    gradient = torch.cat([p.grad.flatten() for p in encoder.model.parameters()])
    return vectors.detach().float(), gradient


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("padded", [False, True], ids=["one length", "padded"])
def test_first_token_is_that_of_the_whole_layer(
    folder, whole, monkeypatch, padded, shuffled, training
):
    encoder = Encoder.load(folder, dropout=0.3).train(training)
    assert applies(encoder.model)
    inputs = batch(encoder, padded, shuffled)
    fix_masks(encoder, inputs[0].shape[1], monkeypatch)
    fast = passed(encoder, *inputs)
    whole()
    plain = passed(encoder, *inputs)
    for found, expected in zip(fast, plain, strict=True):
        assert (found - expected).norm() < 1e-5 * expected.norm()


@pytest.mark.parametrize("pooling", ["cls", "mean", "first_last"])
@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("padded", [False, True], ids=["one length", "padded"])
def test_layers_in_bf16_are_as_near_to_float32_as_autocast(
    folder, monkeypatch, padded, shuffled, training, pooling
):
    encoder = Encoder.load(folder, pooling, dropout=0.3).train(training)
    inputs = batch(encoder, padded, shuffled)
    fix_masks(encoder, inputs[0].shape[1], monkeypatch)
    exact, fast = (passed(encoder, *inputs, half=half) for half in (False, True))
    monkeypatch.setattr(half_layers, "applies", lambda model: False)
    autocast = passed(encoder, *inputs, half=True)
    for found, usual, expected in zip(fast, autocast, exact, strict=True):
        assert 0 < (found - expected).norm() < 1.5 * (usual - expected).norm()


def test_layers_in_bf16_are_for_autocast_to_bf16(encoder):
    assert not half_layers.applies(encoder.model)
    with torch.autocast("cpu", torch.float16):
        assert not half_layers.applies(encoder.model)
    with torch.autocast("cpu", torch.bfloat16):
        assert half_layers.applies(encoder.model)
        encoder.model.config._attn_implementation = "eager"
        assert not half_layers.applies(encoder.model)


def test_the_whole_layer_is_computed_where_attention_is_another(encoder):
    assert applies(encoder.model)
    encoder.model.config._attn_implementation = "eager"
    assert not applies(encoder.model)


@pytest.mark.parametrize("pooling", ["mean", "first_last"])
def test_other_poolings_read_every_token(tiny, monkeypatch, pooling):
    monkeypatch.setattr(encoders, "first_token", lambda *_: pytest.fail("only [CLS] was computed"))
    Encoder.load(str(tiny), pooling).encode(SENTENCES)


VARIANTS = {
    "mocose": {},
    "mocose, frozen first": dict(freeze_steps=4, head_lr=1e-2),
    "mocose, published FGSM": dict(fgsm_epsilon=1e-3, fgsm_gradient="stale"),
    "simcse": dict(method="simcse"),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_loss_curves_are_equal(small, whole, monkeypatch, variant):
    monkeypatch.setattr(learner.sts, "dev_score", lambda *_: 0.0)
    config = small(steps=16, eval_every=4, selection="last", dropout=0.0, **VARIANTS[variant])
    fast = METHODS[config.method](config, bar=False)
    whole()
    plain = METHODS[config.method](config, bar=False)
    curves = [[row["loss"] for row in fitted.progress.history] for fitted in (fast, plain)]
    assert len(curves[0]) == 4 and curves[0] == pytest.approx(curves[1], abs=2e-4)
    found, expected = (torch.from_numpy(fitted.encode(SENTENCES)) for fitted in (fast, plain))
    assert (found - expected).norm() < 1e-3 * expected.norm()


def test_pad_is_row_by_row(encoder):
    ids = encoder.tokenize(SENTENCES)
    padded, mask = encoder.pad(ids)
    rows = [torch.tensor(tokens) for tokens in ids]
    fill = encoder.tokenizer.pad_token_id
    expected = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=fill)
    assert torch.equal(padded, expected)
    assert mask.sum(1).tolist() == [*map(len, ids)] and mask[:, 0].all()
