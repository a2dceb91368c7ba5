"""Rewritten corpora: their models, their cache, and which view sees them."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from texts import articles, generator, stop

from mocose_lib import InputError
from mocose_study.config import Config, vary
from mocose_study.config.config import MODELS
from mocose_study.data import contents, corpora, encoders
from mocose_study.data.files import cache_folder
from mocose_study.rewriting import rewrite, text_augment
from mocose_study.rewriting.tokens import crop, delete, mask_tokens, shortened
from mocose_study.systems import fit
from mocose_study.systems.base import load_encoder
from mocose_study.systems.mocose import Training
from mocose_study.systems.simcse import SimCSE

augmented = text_augment.augmented


@pytest.fixture
def corpus(study, tmp_path):
    return corpora.load_corpus(str(articles(tmp_path / "articles.txt", 5, 7)), 35)


def test_a_missing_headless_or_wrong_model_is_one_sentence(corpus, tiny, masked):
    """It is told before the first sentence is rewritten."""
    for kind, name, told in (
        ("paraphrase", "no/such", "'no/such' is no sequence-to-sequence model"),
        ("back_translation", str(masked), "is no sequence-to-sequence model"),
        ("synonym", str(tiny), "is no masked language model .its file lacks"),
    ):
        models = len(MODELS[kind]) * (name,)
        config = Config(text_augmentation=kind, augmentation_models=models)
        with pytest.raises(InputError, match=f"{told}.*name another in augmentation_"):
            text_augment.check(config, corpus)


def test_default_models_are_the_encoder_or_those_of_the_table(study, tiny):
    def models(kind, **changes):
        return encoders.models_of(Config(text_augmentation=kind, **changes))

    assert models("synonym", encoder=str(tiny)) == (str(tiny),)
    assert models("synonym", augmentation_models=("mine",)) == ("mine",)
    bert = "google-bert/bert-base-uncased"
    assert models("synonym", encoder=bert) == ("FacebookAI/roberta-base",)
    translated = Config(text_augmentation="back_translation")
    named = contents.digests(translated, ("augmentation_models",)).keys()
    assert named == {"benchmark", *MODELS["back_translation"]}
    assert models("paraphrase", encoder=str(tiny)) == ("tuner007/pegasus_paraphrase",)


# --- the cache ---
def test_a_corpus_is_rewritten_once(corpus, masked, monkeypatch):
    config = Config(text_augmentation="synonym", encoder=str(masked))
    first = augmented(config, corpus, 0)
    assert first["document"][:] == [i // 7 for i in range(35)]
    assert len({*first["sentence"]} - {*corpus["sentence"]}) > 30
    monkeypatch.setattr(rewrite, "load", lambda *a: pytest.fail("a model was loaded"))
    text_augment.check(vary(config, augmented_views="target"), corpus)
    again = augmented(config, corpus, 0)
    assert again["sentence"][:] == first["sentence"][:]
    assert again._fingerprint == first._fingerprint


def test_the_cache_has_a_place_for_each_setting(corpus, masked):
    config = Config(text_augmentation="synonym", encoder=str(masked))
    key = text_augment.key_of
    others = [key(config, corpus, seed) for seed in (0, 1)]
    others.append(key(config, corpus.select([0]), 0))
    changes = {"augmentation_rate": 0.2, "augmentation_models": ("another",)}
    for name, value in changes.items():
        others.append(key(vary(config, **{name: value}), corpus, 0))
    assert len(set(others)) == len(others) == 5
    assert key(vary(config, seed=5, lr=0.05), corpus, 0) == others[0]  # seeds share it


@pytest.mark.parametrize("finished", [0, 1, 3])
def test_a_killed_augmentation_loses_one_shard(corpus, monkeypatch, finished):
    monkeypatch.setattr(text_augment, "SHARD", 10)
    config = Config(text_augmentation="typos", augmentation_rate=0.3)
    unbroken = augmented(config, corpus, 0)["sentence"][:]
    for path in cache_folder().glob(f"{text_augment.key_of(config, corpus, 0)}-*"):
        path.unlink()
    real, calls = rewrite.with_typos, []

    def counted(texts, *rest):
        calls.append(len(texts))
        if len(calls) == finished + 1:
            raise KeyboardInterrupt
        return real(texts, *rest)

    monkeypatch.setattr(rewrite, "with_typos", counted)
    with pytest.raises(KeyboardInterrupt):
        augmented(config, corpus, 0)
    text_augment.check(config, corpus)
    assert augmented(config, corpus, 0)["sentence"][:] == unbroken
    assert sum(calls) == 35 + calls[finished]  # nothing else was done twice


# --- training ---
@pytest.mark.parametrize("views", ["target", "both"])
def test_who_sees_the_rewritten_text(small, monkeypatch, views):
    config = small(method="simcse", text_augmentation="typos", augmented_views=views)
    encoder = load_encoder(config, "cpu")
    ids, *pairs = SimCSE.inputs(config, encoder)
    corpus = corpora.load_corpus(config.corpus, config.corpus_size)
    for name, seed in text_augment.columns(config).items():
        texts = augmented(config, corpus, seed)["sentence"][:]
        assert ids[name][:] == encoder.tokenize(texts, 16) != ids["input_ids"][:]
    rows = np.array([5, 3, 9])
    asked = "query_ids" if views == "both" else "input_ids", "key_ids"
    expected = tuple(ids[rows][name] for name in asked)
    assert Training.views(SimpleNamespace(ids=ids), rows) == expected
    monkeypatch.setattr(Training, "views", stop)
    with pytest.raises(KeyboardInterrupt):  # MoCoSE asks for its views
        fit(vary(config, method="mocose"), bar=False)
    seen, loss = [], torch.zeros(())
    monkeypatch.setattr(SimCSE, "loss", lambda _, *given: seen.append(given) or loss)
    SimCSE(config, encoder, (ids, *pairs)).batch_loss(rows, generator())
    assert seen[0][:2] == expected


# --- token ids ---
@pytest.mark.parametrize("share", [0.1, 0.8])
def test_a_crop_is_a_stretch_and_a_deletion_keeps_the_order(share):
    ids, g, starts = [*range(10, 30)], generator(), set()
    for _ in range(300):
        inner = crop(ids, share, g)
        assert inner == [*range(inner[0], inner[0] + round(20 * (1 - share)))]
        starts.add(inner[0])
        left = delete(ids, share, g)
        assert left == sorted(set(left)) and len(left) == 20 - int(share * 20)
    assert len(starts) == 21 - round(20 * (1 - share))


def test_cls_and_sep_stay_and_so_does_a_single_token():
    g, long, one = generator(), [1, 10, 11, 12, 2], [1, 10, 2]
    for share, number in ({"word_deletion": 0.01}, 4), ({"crop": 0.9}, 3):
        query, key = shortened([long, one], [long, one], Config(**share), g)
        for first, second in (query, key):
            assert (first[0], first[-1], len(first)) == (1, 2, number) and second == one


def test_masked_words_are_chosen_as_bert_does():
    rng = np.random.default_rng(0)
    ids = rng.integers(10, 400, (200, 50))
    ids[:, 0], ids[:, -1] = 2, 0
    shown, places = mask_tokens(ids, (0, 2, 4), 0.15, 4, (10, 400), rng)
    chosen = np.zeros(ids.shape, bool)
    chosen.flat[places] = True
    assert not chosen[:, [0, -1]].any() and np.array_equal(shown[~chosen], ids[~chosen])
    assert len(places) == chosen.sum() == int(0.15 * 200 * 48)
    assert (shown[chosen] == 4).mean() == pytest.approx(0.8, abs=0.04)
    assert (shown[chosen] == ids[chosen]).mean() == pytest.approx(0.1, abs=0.03)
