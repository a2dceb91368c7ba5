"""Every fast form gives what the plain one gives, and each can be left out."""

import pytest
import torch
from texts import generator, open_sentences
from torch import nn
from torch.nn import functional as F
from transformers import AutoTokenizer, DistilBertConfig, DistilBertModel

from mocose_lib import Encoder
from mocose_lib import encoder as plain
from mocose_study.config import vary
from mocose_study.fast import accelerate, first_token
from mocose_study.fast.dropout import replace_dropout
from mocose_study.systems import fit

SENTENCES = open_sentences(24, start=300)


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
def test_first_token_is_that_of_the_whole_layer(folder, padded, shuffled, training):
    """The next test is about the dropout of attention weights."""
    encoder = Encoder.load(folder, dropout=0.3).train(training)
    accelerate(encoder)
    replace_dropout(encoder, lambda rate: FixedDropout())
    inputs = batch(encoder, padded, shuffled)
    found = passed(encoder, *inputs)
    encoder.states = plain.states
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


def test_an_unknown_structure_keeps_the_plain_pass(tiny, tmp_path, caplog):
    """And the log says so."""
    words = AutoTokenizer.from_pretrained(tiny)
    words.save_pretrained(tmp_path)
    sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32}
    sizes |= {"vocab_size": len(words), "max_position_embeddings": 75}
    DistilBertModel(DistilBertConfig(**sizes)).save_pretrained(tmp_path)
    distilled, eager = Encoder.load(tmp_path), Encoder.load(tiny)
    eager.model.config._attn_implementation = "eager"
    before = distilled.encode(SENTENCES)
    for encoder in (distilled, eager):
        accelerate(encoder)
        assert encoder.states is plain.states
    assert "distilbert is not built as BERT" in caplog.text and len(caplog.records) == 2
    assert (distilled.encode(SENTENCES) == before).all()


PUBLISHED = {"fgsm_epsilon": 1e-3, "fgsm_gradient": "stale"}


@pytest.mark.parametrize("variant", [{}, PUBLISHED, {"method": "simcse"}], ids=str)
def test_loss_curves_are_equal(small, variant):
    changes = {"steps": 8, "eval_every": 2, "selection": "last", "dropout": 0.0}
    config = small(**changes, **variant)
    made = [fit(vary(config, fast=fast), bar=False) for fast in (True, False)]
    curve, other = ([row["loss"] for row in m.progress.history] for m in made)
    assert len(curve) == 4 and curve == pytest.approx(other, abs=2e-4)
    found, expected = (torch.from_numpy(m.encode(SENTENCES)) for m in made)
    assert (found - expected).norm() < 1e-3 * expected.norm()
