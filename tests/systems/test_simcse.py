"""SimCSE's ablations; tests/lib/test_whole_step.py has its loss."""

import pytest
import torch
from making import built
from texts import articles, generator, open_sentences
from transformers import AutoModelForMaskedLM

from mocose_study.config import vary
from mocose_study.rewriting.tokens import mask_tokens
from mocose_study.systems import base, fit
from mocose_study.systems.masked_words import RATE, numpy_generator
from mocose_study.systems.simcse import SimCSE

SENTENCES = open_sentences(6, start=50)


def system(config):
    return built(SimCSE, config).train()


def test_two_masks_differ_one_mask_twice_and_no_dropout_give_equal_views(small):
    for changes in ({}, {"dropout": 0.0}, {"same_mask": True}):
        s = system(small(method="simcse", **changes))
        ids = s.encoder.tokenize(SENTENCES)
        query, keys = s.views(ids, ids, generator())
        assert torch.equal(query, keys) == bool(changes)
    another, _ = s.views(ids, ids, generator())
    assert not torch.equal(query, another)  # the mask is new in the next batch


@pytest.mark.parametrize("cut", ["word_deletion", "crop"])
@pytest.mark.parametrize("which", ["both", "target"])
def test_which_views_are_cut(small, which, cut):
    options = {cut: 0.3, "augmented_views": which, "dropout": 0.0}
    s = system(small(method="simcse", **options))
    ids = s.encoder.tokenize(SENTENCES)
    plain, views = s.vectors(ids), s.views(ids, ids, generator())
    changed = [not torch.allclose(view, plain, atol=1e-5) for view in views]
    assert changed == [which == "both", True]


@pytest.mark.parametrize("mlp", ["training", "always", "never"])
def test_the_mlp_in_training_and_at_evaluation(small, mlp):
    s = system(small(method="simcse", mlp=mlp, dropout=0.0)).eval()
    plain = behind = torch.from_numpy(s.encoder.encode(SENTENCES))
    if mlp != "never":
        behind = torch.tanh(plain @ s.mlp[0].weight.T + s.mlp[0].bias).detach()
    near = dict(rtol=1e-4, atol=1e-5)
    trained_on = s.vectors(s.encoder.tokenize(SENTENCES)).detach()
    torch.testing.assert_close(trained_on, behind, **near)
    expected = behind if mlp == "always" else plain
    torch.testing.assert_close(torch.from_numpy(s.encode(SENTENCES)), expected, **near)


def test_two_encoders_start_alike_are_both_trained_and_the_first_is_measured(small):
    config = small(method="simcse", two_encoders=True, steps=3)
    s = system(config)
    first = [*s.encoder.parameters(), *s.mlp.parameters()]
    for a, b in zip(first, s.second.parameters(), strict=True):
        assert a is not b and torch.equal(a, b)
    base.train_system(config, s, bar=False)
    a, b = (e.model.get_input_embeddings().weight for e in (s.encoder, s.second[0]))
    assert not torch.equal(a, b)
    assert (s.encode(SENTENCES) == s.encoder.encode(SENTENCES)).all()


def test_the_next_sentence_is_of_the_same_document(small, tmp_path):
    corpus = str(articles(tmp_path / "articles.txt", 10, 6))
    config = small(method="simcse", corpus=corpus, corpus_size=60)
    for positives, reach in (("next_sentence", 1), ("next_three", 3)):
        s = system(vary(config, positives=positives))
        drawn = sorted(zip(s.first_rows, s.second_rows, strict=True))
        near = ((i, i + n) for i in range(60) for n in range(1, reach + 1))
        assert drawn == [(i, j) for i, j in near if j < 60 and i // 6 == j // 6]
    config = vary(config, positives="next_sentence")
    assert fit(config, bar=False).progress.step == config.steps


def test_the_masked_word_loss_in_loops(small, masked):
    """From the last states: the checkpoint's transform, then its word embeddings."""
    config = small(method="simcse", dropout=0.0, mlm_weight=0.5, encoder=str(masked))
    s = system(config)
    encoder, head = s.encoder, s.masked_words.head.predictions
    tokens, words = encoder.tokenize(SENTENCES), encoder.tokenizer
    found = s.masked_words(encoder, tokens, generator()).item()
    ids, mask = encoder.pad(tokens)
    special, vocabulary = words.all_special_ids, (0, len(words))
    drawn = (words.mask_token_id, vocabulary, numpy_generator(generator()))
    shown, places = mask_tokens(ids.numpy(), special, RATE, *drawn)
    total = 0.0
    for place in places.tolist():
        row, column = divmod(place, ids.shape[1])
        one = torch.from_numpy(shown[row : row + 1])
        states = encoder.model(one, attention_mask=mask[row : row + 1].long())
        state = head.transform(states.last_hidden_state[0, column])
        logits = encoder.model.get_input_embeddings().weight @ state + head.decoder.bias
        total -= logits.log_softmax(0)[ids[row, column]].item()
    assert found == pytest.approx(total / len(places), rel=1e-4)
    contrast = system(vary(config, mlm_weight=0.0)).loss(tokens, tokens, generator())
    both = s.loss(tokens, tokens, generator())
    torch.testing.assert_close(both, contrast + 0.5 * found)


def test_the_head_is_the_checkpoints_or_a_fresh_one(small, masked, tiny, caplog):
    checkpoint = AutoModelForMaskedLM.from_pretrained(masked)
    trained = checkpoint.cls.predictions.transform.dense.weight
    for name, own in ((masked, True), (tiny, False)):
        s = system(small(method="simcse", mlm_weight=0.5, encoder=str(name)))
        head = s.masked_words.head.predictions
        assert torch.equal(head.transform.dense.weight, trained) == own
        assert head.decoder.weight is s.encoder.model.get_input_embeddings().weight
    assert "starts afresh" in caplog.text
