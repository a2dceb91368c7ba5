"""BERT-flow, IS-BERT and DeCLUTR, each against its formula computed anew."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from making import built
from texts import articles, open_sentences
from torch.nn import functional as F

from mocose_lib import InputError
from mocose_study.systems import fit
from mocose_study.systems import flow as flows
from mocose_study.systems.base import load_encoder, train_system
from mocose_study.systems.declutr import DeCLUTR
from mocose_study.systems.is_bert import ISBert
from mocose_study.systems.masked_words import MaskedWords

SENTENCES = open_sentences(12, start=50)


def flow_of(config):
    torch.manual_seed(0)
    return flows.Flow(config, load_encoder(config, "cpu"), SENTENCES)


@pytest.fixture
def flow(small, monkeypatch):
    """A flow that is far from the identity, and vectors."""
    monkeypatch.setattr(flows, "WIDTH", 8)
    system = flow_of(small(method="flow", pooling="first_last"))
    for parameter in system.steps.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape)
    return system, torch.randn(5, 16)


def test_the_flow_loss_is_the_negative_log_density(flow):
    """log p(x) = log N(z; 0, 1) + log |det dz/dx|, by torch.distributions and autograd.

    The determinant is finite, so that the flow can be undone.
    """
    system, x = flow
    z, determinant = system.transform(x)
    assert not torch.allclose(z, x, atol=0.1)
    near, density = dict(atol=1e-4, rtol=1e-4), []
    for row, image, given in zip(x, z, determinant, strict=True):
        jacobian = torch.func.jacrev(lambda r: system.transform(r[None])[0][0])(row)
        expected = jacobian.slogdet().logabsdet
        torch.testing.assert_close(given, expected, **near)
        normal = torch.distributions.Normal(0, 1).log_prob(image).sum()
        density.append(normal + expected)
    expected = -torch.stack(density).mean() / 16
    torch.testing.assert_close(system.loss(x), expected, **near)


def test_a_flow_starts_with_features_of_mean_0_and_variance_1(small):
    system = flow_of(small(method="flow"))
    x = 5 + 3 * torch.randn(500, 16)
    system.normalise(x)
    found = system.steps[0](x)[0] @ system.steps[0].rotation.T
    torch.testing.assert_close(found.mean(0), torch.zeros(16), atol=1e-4, rtol=0)
    torch.testing.assert_close(found.std(0), torch.ones(16), atol=1e-4, rtol=0)


def test_a_flow_is_trained_and_its_encoder_is_not(small):
    training = dict(steps=30, eval_every=10, batch_size=32, lr=3e-3, selection="last")
    config = small(method="flow", statistics="corpus", **training)
    system, fresh = built(flows.Flow, config), load_encoder(config, "cpu")
    progress = train_system(config, system, bar=False).progress
    losses = [row["loss"] for row in progress.history]
    assert losses[-1] < losses[0]
    assert np.array_equal(system.encoder.encode(SENTENCES), fresh.encode(SENTENCES))


def is_bert(small):
    return built(ISBert, small(method="is_bert"))


def test_local_vectors_are_windows_of_1_3_and_5_tokens(small):
    encoder = is_bert(small).encoder
    ids, mask = encoder.pad(encoder.tokenize(SENTENCES[:1]))
    local = encoder.local(encoder.words(ids), mask)[0]
    states = encoder.model(ids).last_hidden_state[0]
    length = len(states)
    for place in (0, 3, length - 1):
        expected = []
        for conv, reach in zip(encoder.convolutions, (0, 1, 2), strict=True):
            total = conv.bias.clone()
            for step in range(-reach, reach + 1):
                if 0 <= place + step < length:
                    total += conv.weight[:, :, step + reach] @ states[place + step]
            expected.append(total)
        near = dict(atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(local[place], torch.cat(expected), **near)
    found = torch.from_numpy(encoder.encode(SENTENCES[:1]))[0]
    torch.testing.assert_close(found, local.mean(0).detach(), atol=1e-5, rtol=1e-4)


def test_the_loss_of_a_batch_is_the_jensen_shannon_estimate_in_loops(small):
    system = is_bert(small)
    encoder, ids = system.encoder, system.encoder.tokenize(SENTENCES[:3])
    rows = (torch.tensor([tokens]) for tokens in ids)
    local = [encoder.local(encoder.words(row), row >= 0)[0] for row in rows]
    terms = {True: [], False: []}
    for sentence, other in itertools.product(local, local):
        for token in other:
            own, score = sentence is other, (token @ sentence.mean(0)).item()
            terms[own].append(math.log(1 + math.exp(-score if own else score)))
    expected = sum(sum(found) / len(found) for found in terms.values())
    assert system.loss(ids).item() == pytest.approx(expected, rel=1e-4)


@pytest.fixture
def spanned(small, tmp_path):
    """Makes Configs of DeCLUTR on ten documents of thirty sentences."""
    corpus = str(articles(tmp_path / "articles.txt", 10, 30))
    defaults = dict(method="declutr", corpus=corpus, corpus_size=300, pooling="mean")
    return lambda **changes: small(**{**defaults, **changes})


def test_spans_lie_in_one_document_and_positives_touch_their_anchor(spanned):
    config = spanned()
    system = built(DeCLUTR, config)
    texts = Path(config.corpus).read_text().split("\n\n")
    words = system.encoder.tokenizer(texts, add_special_tokens=False)["input_ids"]
    assert [text.tolist() for text in system.ids] == words
    # tokens that name their own place in the document show where a span was taken from
    document = np.arange(len(words[4])) + 1_000
    rng = np.random.default_rng(0)
    sizes, kinds = [], set()
    for _ in range(100):
        anchors, positives = system.spans(document, rng)
        assert len(anchors) == 2 and len(positives) == 4
        for i, positive in enumerate(positives):
            a, p = anchors[i // 2][1:-1], positive[1:-1]
            for span in (a, p):
                assert span == [*range(span[0], span[0] + len(span))]
                assert 8 <= len(span) <= 14
            assert p[0] <= a[-1] + 1 and p[-1] + 1 >= a[0]
            kinds.add((bool({*a} & {*p}), {*p} <= {*a}))  # overlaps, lies inside
            sizes.append((len(a), len(p)))
    assert kinds == {(False, False), (True, False), (True, True)}
    longer, shorter = np.mean(sizes, axis=0)  # the mean of Beta(4, 2) is 2/3
    assert longer == pytest.approx(8 + 6.5 * 2 / 3, abs=0.5)
    assert shorter == pytest.approx(8 + 6.5 / 3, abs=0.5)


def test_the_loss_is_nt_xent_with_mean_positives_and_that_of_masked_words(
    spanned, monkeypatch
):
    system = built(DeCLUTR, spanned(dropout=0.0, temperature=0.5))
    monkeypatch.setattr(MaskedWords, "forward", lambda *_: 1.5)
    ids = system.encoder.tokenize(SENTENCES[:6])
    one = [torch.from_numpy(system.encoder.encode([s]))[0] for s in SENTENCES[:6]]
    vectors, total = [*one[:2], (one[2] + one[3]) / 2, (one[4] + one[5]) / 2], 1.5
    for i in range(4):
        cosines = (F.cosine_similarity(vectors[i], v, dim=0).item() for v in vectors)
        sims = [math.exp(cosine / 0.5) for cosine in cosines]
        total -= math.log(sims[(i + 2) % 4] / (sum(sims) - sims[i])) / 4
    loss = system.loss(ids[:2], ids[2:], torch.Generator()).item()
    assert loss == pytest.approx(total, rel=1e-4)


def test_a_corpus_without_documents_or_with_short_ones_is_refused(spanned, tmp_path):
    plain = str(articles(tmp_path / "sentences.txt", 1, 64))
    told = {
        "has no documents": dict(corpus=plain, corpus_size=64),
        "has 10 documents of 64 tokens .* batch_size = 11 needs": dict(batch_size=11),
        "reads only 75 tokens": dict(max_length=80),
    }
    for sentence, changes in told.items():
        with pytest.raises(InputError, match=sentence):
            fit(spanned(**changes), bar=False)
