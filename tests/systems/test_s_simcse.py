"""S-SimCSE's dropout with drawn rates."""

import numpy as np
import pytest
import torch
from making import built
from texts import open_sentences
from torch import nn

from mocose_study.systems import fit
from mocose_study.systems.s_simcse import SampledDropout, SSimCSE

SENTENCES = open_sentences(8, start=50)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("sentence_wise", [True, False])
def test_the_drop_rate_of_a_sentence_is_the_drawn_one(sentence_wise):
    dropout = SampledDropout(0.05, 0.6, sentence_wise)
    x = torch.ones(6, 100, 200)
    state = torch.get_rng_state()
    rates = dropout.rates(x).flatten()
    torch.set_rng_state(state)  # the forward pass draws the same
    found = dropout(x)
    dropped = (found == 0).float().mean((1, 2))
    torch.testing.assert_close(dropped, rates, atol=0.02, rtol=0)
    assert (len(set(rates.tolist())) == 6) == sentence_wise
    masks = found == 0
    assert not torch.equal(masks[0], masks[1])  # each sentence has one of its own
    for row, rate in zip(found, rates, strict=True):
        torch.testing.assert_close(row.max(), 1 / (1 - rate))


def test_rates_are_uniform_between_their_bounds_and_new_in_every_pass():
    dropout = SampledDropout(0.1, 0.5, True)
    rates = torch.cat([dropout.rates(torch.ones(500, 2)).flatten() for _ in range(4)])
    assert 0.1 <= rates.min() < 0.105 and 0.495 < rates.max() <= 0.5
    counts = torch.histc(rates, 4, 0.1, 0.5)
    assert counts.min() > 425 and len(rates.unique()) > 1990


def test_attention_reads_a_drawn_rate_in_every_layer_and_pass(small, monkeypatch):
    config = small(method="s_simcse", dropout_low=0.1, dropout_high=0.4, fast=False)
    encoder = built(SSimCSE, config).encoder
    read, real = [], nn.functional.scaled_dot_product_attention

    def spy(*args, dropout_p=0.0, **options):
        read.append(dropout_p)
        return real(*args, dropout_p=dropout_p, **options)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", spy)
    ids, mask = encoder.pad(encoder.tokenize(SENTENCES))
    for _ in range(2):
        encoder.train()(encoder.words(ids), mask)
    assert len(set(read)) == 4 and all(0.1 <= rate <= 0.4 for rate in read)
    encoder.eval()(encoder.words(ids), mask)
    assert read[4:] == [0.0, 0.0]


def test_the_system_differs_from_simcse_but_at_rate_zero(small):
    def encode(method, **changes):
        return fit(small(method=method, **changes), bar=False).encode(SENTENCES)

    assert not np.array_equal(encode("s_simcse"), encode("simcse"))
    zero = encode("s_simcse", dropout_low=0.0, dropout_high=0.0)
    np.testing.assert_allclose(zero, encode("simcse", dropout=0.0), atol=1e-5)
