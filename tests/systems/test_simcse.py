"""Unsupervised SimCSE and its ablations; what all trained systems share is tested on it, too."""

import math

import numpy as np
import pytest
import torch
from texts import open_sentences
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM

from mocose_lib import InputError, trainer
from mocose_study.config import vary
from mocose_study.rewriting.tokens import crop, delete
from mocose_study.systems import METHODS, base
from mocose_study.systems.base import load_encoder, numpy_generator, training_ids
from mocose_study.systems.masked_words import corrupted
from mocose_study.systems.simcse import SimCSE, pairs

SENTENCES = open_sentences(6, start=50)


def system(config, training=True):
    torch.manual_seed(config.seed)
    encoder = load_encoder(config, "cpu")
    return SimCSE(config, encoder, SimCSE.inputs(config, encoder)).train(training)


def generator():
    return torch.Generator().manual_seed(0)


def test_the_loss_in_loops(small):
    """Equation 4: -log exp(sim(h_i, h'_i) / t) / sum_j exp(sim(h_i, h'_j) / t)."""
    s = system(small(method="simcse", dropout=0.0))
    ids = s.encoder.tokenize(SENTENCES)
    h = s.vectors(ids).detach()
    total = 0.0
    for i in range(6):
        sims = [math.exp(float(F.cosine_similarity(h[i], h[j], dim=0)) / 0.05) for j in range(6)]
        total -= math.log(sims[i] / sum(sims)) / 6
    assert s.loss(ids, ids, generator()).item() == pytest.approx(total, rel=1e-4)


def test_two_masks_differ_one_mask_twice_and_no_dropout_give_equal_views(small):
    for changes, same in (({}, False), ({"same_mask": True}, True), ({"dropout": 0.0}, True)):
        s = system(small(method="simcse", **changes))
        ids = s.encoder.tokenize(SENTENCES)
        query, keys = s.views(ids, ids, generator())
        assert torch.equal(query, keys) == same
    s = system(small(method="simcse", same_mask=True))
    first, _ = s.views(ids, ids, generator())
    second, _ = s.views(ids, ids, generator())
    assert not torch.equal(first, second)  # the mask is new in the next batch


def test_one_mask_twice_needs_the_same_tokens(small):
    with pytest.raises(InputError, match="same_mask"):
        small(method="simcse", same_mask=True, crop=0.1)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.8])
def test_a_crop_is_a_stretch_and_a_deletion_keeps_the_order(share):
    ids, g = [1, *range(10, 30), 2], generator()
    starts = set()
    for _ in range(300):
        cut = crop(ids, share, g)
        inner = cut[1:-1]
        assert cut[0] == 1 and cut[-1] == 2 and len(inner) == round(20 * (1 - share))
        assert inner == list(range(inner[0], inner[0] + len(inner)))
        starts.add(inner[0])
        left = delete(ids, share, g)
        assert left[0] == 1 and left[-1] == 2 and left[1:-1] == sorted(set(left[1:-1]))
        assert len(left) == 22 - int(share * 20)
    assert len(starts) == 21 - round(20 * (1 - share))


def test_one_word_at_least_is_deleted_and_one_word_stays():
    assert len(delete([1, 10, 11, 12, 2], 0.01, generator())) == 4
    assert delete([1, 10, 2], 0.5, generator()) == crop([1, 10, 2], 0.5, generator()) == [1, 10, 2]
    assert crop([1, 2], 0.5, generator()) == [1, 2]


@pytest.mark.parametrize("which, changed", [("both", (True, True)), ("target", (False, True))])
def test_which_views_are_cut(small, which, changed):
    s = system(small(method="simcse", word_deletion=0.3, augmented_views=which, dropout=0.0))
    ids = s.encoder.tokenize(SENTENCES)
    plain = s.vectors(ids)
    views = s.views(ids, ids, generator())
    assert tuple(not torch.allclose(v, plain, atol=1e-5) for v in views) == changed


@pytest.mark.parametrize("mlp", ["training", "always", "never"])
def test_the_mlp_in_training_and_at_evaluation(small, mlp):
    s = system(small(method="simcse", mlp=mlp, dropout=0.0), training=False)
    plain = torch.from_numpy(s.encoder.encode(SENTENCES))
    if mlp == "never":
        behind = plain
    else:
        behind = torch.tanh(plain @ s.mlp[0].weight.T + s.mlp[0].bias).detach()
    trained_on = s.vectors(s.encoder.tokenize(SENTENCES)).detach()
    torch.testing.assert_close(trained_on, behind, rtol=1e-4, atol=1e-5)
    expected = behind if mlp == "always" else plain
    torch.testing.assert_close(
        torch.from_numpy(s.encode(SENTENCES)), expected, rtol=1e-4, atol=1e-5
    )


def test_two_encoders_start_alike_are_both_trained_and_the_first_is_measured(small):
    config = small(method="simcse", two_encoders=True, steps=3)
    s = system(config)
    first = [*s.encoder.parameters(), *s.mlp.parameters()]
    for a, b in zip(first, s.second.parameters(), strict=True):
        assert a is not b and torch.equal(a, b)
    base.train_system(config, s, bar=False)
    a, b = (e.model.get_input_embeddings().weight for e in (s.encoder, s.second[0]))
    assert not torch.equal(a, b)
    assert np.array_equal(s.encode(SENTENCES), s.encoder.encode(SENTENCES))


@pytest.fixture
def articles(tmp_path):
    path = tmp_path / "articles.txt"
    texts = open_sentences(60, start=300)
    path.write_text("\n\n".join("\n".join(texts[i : i + 6]) for i in range(0, 60, 6)) + "\n")
    return str(path)


def test_the_next_sentence_is_of_the_same_document(small, articles):
    config = small(method="simcse", positives="next_sentence", corpus=articles, corpus_size=60)
    ids = training_ids(config, load_encoder(config, "cpu"))
    first, second = pairs(config, ids)
    assert list(second) == list(first + 1)
    assert list(first) == [i for i in range(60) if i % 6 != 5]
    assert METHODS["simcse"](config, bar=False).progress.step == config.steps


def test_next_sentences_need_a_corpus_with_documents(small, tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(open_sentences(64)))
    for corpus in (str(path),):
        config = small(method="simcse", positives="next_sentence", corpus=corpus)
        with pytest.raises(InputError, match="has no documents"):
            METHODS["simcse"](config, bar=False)


def test_masked_words_are_chosen_as_bert_does(encoder):
    words = encoder.tokenizer
    ids = torch.randint(10, len(words), (200, 50), generator=generator())
    ids[:, 0], ids[:, -1] = words.cls_token_id, words.pad_token_id
    shown, places = corrupted(ids, words, np.random.default_rng(0))
    chosen = torch.zeros(ids.numel(), dtype=bool).scatter(0, places, True).view(ids.shape)
    assert not chosen[:, [0, -1]].any() and torch.equal(shown[~chosen], ids[~chosen])
    assert len(places) == len(places.unique()) == int(0.15 * 200 * 48)
    masked = (shown[chosen] == words.mask_token_id).float().mean().item()
    kept = (shown[chosen] == ids[chosen]).float().mean().item()
    assert masked == pytest.approx(0.8, abs=0.04) and kept == pytest.approx(0.1, abs=0.03)


def test_the_masked_word_loss_in_loops(small, masked):
    """By hand from the last states: the checkpoint's transform, then its word embeddings."""
    config = small(method="simcse", dropout=0.0, mlm_weight=0.5, encoder=str(masked))
    s = system(config)
    encoder, head = s.encoder, s.masked_words.head.predictions
    ids, mask = encoder.pad(encoder.tokenize(SENTENCES))
    found = s.masked_words(encoder, ids, mask, generator()).item()
    shown, places = corrupted(ids, encoder.tokenizer, numpy_generator(generator()))
    total = 0.0
    for place in places.tolist():
        row, column = divmod(place, ids.shape[1])
        states = encoder.model(shown[row : row + 1], attention_mask=mask[row : row + 1].long())
        state = head.transform(states.last_hidden_state[0, column])
        logits = encoder.model.get_input_embeddings().weight @ state + head.decoder.bias
        total -= logits.log_softmax(0)[ids[row, column]].item()
    assert found == pytest.approx(total / len(places), rel=1e-4)
    tokens = encoder.tokenize(SENTENCES)
    contrast = system(vary(config, mlm_weight=0.0)).loss(tokens, tokens, generator())
    torch.testing.assert_close(s.loss(tokens, tokens, generator()), contrast + 0.5 * found)


def test_the_head_for_masked_words_is_the_checkpoints_or_a_fresh_one(small, masked, tiny, caplog):
    trained = AutoModelForMaskedLM.from_pretrained(masked).cls.predictions.transform.dense.weight
    for name, own in ((masked, True), (tiny, False)):
        s = system(small(method="simcse", mlm_weight=0.5, encoder=str(name)))
        head = s.masked_words.head.predictions
        assert torch.equal(head.transform.dense.weight, trained) == own
        assert head.decoder.weight is s.encoder.model.get_input_embeddings().weight
    assert "starts afresh" in caplog.text


def test_a_checkpoint_of_another_config_is_refused(small, tmp_path, monkeypatch):
    config = small(method="simcse", steps=2)
    monkeypatch.setattr(trainer, "SAVE_SECONDS", -1)
    METHODS["simcse"](config, tmp_path / "c.pt", bar=False)
    with pytest.raises(InputError, match="belongs to other settings"):
        METHODS["simcse"](vary(config, seed=1), tmp_path / "c.pt", bar=False)


def test_the_best_checkpoint_is_kept(small):
    fitted = METHODS["simcse"](small(method="simcse", lr=0.05, steps=8), bar=False)
    scores = {row["step"]: row["score"] for row in fitted.progress.history}
    assert list(scores) == [2, 4, 6, 8]
    assert fitted.progress.best_step == max(scores, key=scores.get)
    last = METHODS["simcse"](small(method="simcse", selection="last"), bar=False)
    assert last.progress.best_step == 0


def test_training_lowers_the_loss(small):
    config = small(method="simcse", steps=40, eval_every=2, batch_size=8)
    losses = [row["loss"] for row in METHODS["simcse"](config, bar=False).progress.history]
    assert sum(losses[-5:]) < sum(losses[:5])


def test_a_pooler_that_is_not_trained_is_not_measured(small):
    with pytest.raises(InputError, match="cls_pooler"):
        small(method="simcse", pooling="cls_pooler")
