"""Rewritten corpora: their models, their cache, and which view sees them."""

import shutil
from importlib import import_module

import numpy as np
import pytest
from texts import SENTENCES, generator

from mocose_lib import InputError
from mocose_study.config import Config, vary
from mocose_study.config.config import MODELS_NEEDED
from mocose_study.data import corpora
from mocose_study.data.files import cache_folder
from mocose_study.rewriting import rewrite, text_augment
from mocose_study.rewriting.tokens import crop, delete, mask_tokens
from mocose_study.runs import run
from mocose_study.systems import METHODS
from mocose_study.systems.base import load_encoder, training_ids
from mocose_study.systems.simcse import SimCSE

loop = import_module("mocose_lib.train")


class Killed(BaseException):
    """What a kill looks like from inside."""


# --- models ---
@pytest.mark.parametrize("kind", ["synonym", "insertion", "paraphrase"])
def test_a_model_that_is_not_there_is_one_sentence(study, kind):
    config = Config(text_augmentation=kind, augmentation_models=("no/such",))
    with pytest.raises(
        InputError, match=r"'no/such' is no .*; name another in augmentation_models"
    ):
        text_augment.make_rewrite(config)


def test_damaged_headless_and_wrong_models_are_one_sentence_each(
    study, tiny, masked, tmp_path
):
    config = Config(text_augmentation="synonym", encoder=str(tiny))
    with pytest.raises(
        InputError, match=r"is no masked language model .its file lacks"
    ):
        text_augment.make_rewrite(config)
    (tmp_path / "half").mkdir()
    for file in tiny.iterdir():
        (tmp_path / "half" / file.name).write_bytes(file.read_bytes()[:-200])
    with pytest.raises(InputError, match="is no masked language model"):
        text_augment.make_rewrite(
            vary(config, augmentation_models=(str(tmp_path / "half"),))
        )
    config = Config(
        text_augmentation="back_translation", augmentation_models=2 * (str(masked),)
    )
    with pytest.raises(
        InputError, match=r"is no sequence-to-sequence model .Unrecognized"
    ):
        text_augment.make_rewrite(config)


def test_default_models_are_the_encoder_or_the_papers(study, tiny):
    def models(kind, **changes):
        return text_augment.models_of(Config(text_augmentation=kind, **changes))

    assert models("none") == models("typos") == ()
    assert models("synonym", encoder=str(tiny)) == (str(tiny),)
    assert models("synonym", encoder="bert-base-uncased") == ("roberta-base",)
    assert models("paraphrase", encoder=str(tiny)) == ("tuner007/pegasus_paraphrase",)
    assert models("back_translation") == (
        "facebook/wmt19-en-de",
        "facebook/wmt19-de-en",
    )
    assert models("synonym", augmentation_models=("mine",)) == ("mine",)
    for kind, table in text_augment.KINDS.items():
        assert len(table["models"]) == MODELS_NEEDED.get(kind, 0)


# --- the cache ---
@pytest.fixture
def corpus(study, tmp_path):
    path = tmp_path / "articles.txt"
    path.write_text(
        "\n".join(SENTENCES[:20]) + "\n\n" + "\n".join(SENTENCES[20:35]) + "\n"
    )
    return corpora.load_corpus(str(path), 35)


def test_a_corpus_is_rewritten_once(corpus, masked, monkeypatch):
    config = Config(
        text_augmentation="synonym", encoder=str(masked), augmentation_rate=0.2
    )
    first = text_augment.augmented(config, corpus, 0)
    assert first["document"][:] == corpus["document"][:] == [0] * 20 + [1] * 15
    assert all(
        a != b for a, b in zip(corpus["sentence"], first["sentence"], strict=True)
    )
    assert not list(cache_folder().rglob("*.json"))
    monkeypatch.setattr(rewrite, "load", lambda *a: pytest.fail("a model was loaded"))
    text_augment.check(vary(config, augmented_views="target"), corpus)
    again = text_augment.augmented(config, corpus, 0)
    assert (
        again["sentence"][:] == first["sentence"][:]
        and again._fingerprint == first._fingerprint
    )


def test_the_cache_has_a_place_for_each_setting(corpus, masked, tmp_path):
    copy = shutil.copytree(masked, tmp_path / "copy")
    config = Config(text_augmentation="synonym", encoder=str(copy))
    key = text_augment.key_of
    others = [
        key(config, corpus, 0),
        key(config, corpus, 1),
        key(config, corpus.select([0]), 0),
    ]
    for changes in (
        {"text_augmentation": "insertion"},
        {"augmentation_rate": 0.2},
        {"augmentation_models": ("another",)},
    ):
        others.append(key(vary(config, **changes), corpus, 0))
    before = run.run_id(named := vary(config, augmentation_models=(str(copy),)))
    with (copy / "model.safetensors").open("ab") as weights:
        weights.write(b" ")
    assert run.run_id(named) != before  # a run is named after their weights, too
    others.append(key(config, corpus, 0))
    assert len(set(others)) == len(others)
    assert (
        key(vary(config, seed=5, lr=0.05), corpus, 0) == others[-1]
    )  # all seeds share it


@pytest.mark.parametrize("finished", [0, 1, 3])
def test_a_killed_augmentation_loses_one_shard(corpus, monkeypatch, finished):
    monkeypatch.setattr(text_augment, "SHARD", 10)
    config = Config(text_augmentation="typos", augmentation_rate=0.3)
    unbroken = text_augment.augmented(config, corpus, 0)["sentence"][:]
    for path in cache_folder().glob(f"{text_augment.key_of(config, corpus, 0)}.*"):
        path.unlink()
    real, calls, kill = rewrite.with_typos, [], [finished]

    def counted(texts, *rest):
        if len(calls) in kill:
            raise Killed
        calls.append(len(texts))
        return real(texts, *rest)

    monkeypatch.setattr(rewrite, "with_typos", counted)
    with pytest.raises(Killed):
        text_augment.augmented(config, corpus, 0)
    assert sum(calls) == 10 * finished
    kill.clear()
    assert text_augment.augmented(config, corpus, 0)["sentence"][:] == unbroken
    assert sum(calls) == 35  # nothing was done twice


# --- training ---
@pytest.mark.parametrize(
    "kind, views", [("typos", "both"), ("synonym", "target"), ("insertion", "both")]
)
def test_token_ids_of_the_views(small, masked, kind, views):
    config = small(text_augmentation=kind, augmented_views=views, encoder=str(masked))
    plain, encoder = vary(config, text_augmentation="none"), load_encoder(config, "cpu")
    ids, bare = training_ids(config, encoder), training_ids(plain, encoder)
    corpus = corpora.load_corpus(config.corpus, config.corpus_size)

    def by_hand(seed):
        texts = text_augment.augmented(config, corpus, seed)["sentence"][:]
        return encoder.tokenize(texts, config.max_length)

    assert (
        ids["input_ids"][:] == bare["input_ids"][:]
        and "key_ids" not in bare.column_names
    )
    assert ids["length"][:] == bare["length"][:]  # batches are those of the original
    assert ids["key_ids"][:] == by_hand(0) != bare["input_ids"][:]
    assert ("query_ids" in ids.column_names) == (views == "both")
    if views == "both":
        assert ids["query_ids"][:] == by_hand(1) != ids["key_ids"][:]


@pytest.mark.parametrize("views", ["target", "both"])
def test_who_sees_the_rewritten_text(small, monkeypatch, views):
    config = small(
        text_augmentation="typos", augmented_views=views, queue_keys="latest"
    )
    ids = training_ids(config, load_encoder(config, "cpu"))
    query_column = "query_ids" if views == "both" else "input_ids"
    lists = {name: list(map(tuple, ids[name])) for name in (query_column, "key_ids")}
    seen = {"query": [], "key": []}
    real = loop.make_view

    def make_view(trainer, branch, tokens, mask, *rest):
        side = (
            "key" if not any(p.requires_grad for p in branch.parameters()) else "query"
        )
        lengths = zip(tokens, mask.sum(1), strict=True)
        seen[side] += [tuple(row[: int(n)].tolist()) for row, n in lengths]
        return real(trainer, branch, tokens, mask, *rest)

    monkeypatch.setattr(loop, "make_view", make_view)
    METHODS["mocose"](config, bar=False)
    assert len(seen["query"]) == config.steps * config.batch_size
    rows = [lists[query_column].index(tokens) for tokens in seen["query"]]
    first = seen["key"][: config.batch_size]
    assert first == [lists["key_ids"][row] for row in rows[: config.batch_size]]
    assert set(seen["key"]) <= set(
        lists["key_ids"]
    )  # of the queue's own sentences, too


def test_simcse_sees_it_too(small, monkeypatch):
    config = small(method="simcse", text_augmentation="typos", augmented_views="target")
    ids = training_ids(config, load_encoder(config, "cpu"))
    pairs = {
        (tuple(q), tuple(k))
        for q, k in zip(ids["input_ids"], ids["key_ids"], strict=True)
    }
    seen, real = [], SimCSE.views

    def noting(system, query, keys, generator):
        seen.extend(zip(map(tuple, query), map(tuple, keys), strict=True))
        return real(system, query, keys, generator)

    monkeypatch.setattr(SimCSE, "views", noting)
    METHODS["simcse"](config, bar=False)
    assert len(seen) == config.steps * config.batch_size and set(seen) <= pairs


def test_all_models_are_asked_for_before_the_first_sentence_is_rewritten(
    small, monkeypatch
):
    monkeypatch.setattr(text_augment, "augmented", lambda *a: pytest.fail("it began"))
    missing = small(text_augmentation="paraphrase")
    with pytest.raises(InputError, match="tuner007/pegasus_paraphrase"):
        run.prepare([small(text_augmentation="typos"), missing])


# --- token ids ---
@pytest.mark.parametrize("share", [0.1, 0.8])
def test_a_crop_is_a_stretch_and_a_deletion_keeps_the_order(share):
    ids, g, starts = [1, *range(10, 30), 2], generator(), set()
    for _ in range(300):
        first, *inner, last = crop(ids, share, g)
        assert (first, last) == (1, 2) and len(inner) == round(20 * (1 - share))
        assert inner == list(range(inner[0], inner[0] + len(inner)))
        starts.add(inner[0])
        first, *left, last = delete(ids, share, g)
        assert (first, last) == (1, 2) and left == sorted(set(left))
        assert len(left) == 20 - int(share * 20)
    assert len(starts) == 21 - round(20 * (1 - share))


def test_one_word_at_least_is_deleted_and_one_word_stays():
    assert len(delete([1, 10, 11, 12, 2], 0.01, generator())) == 4
    assert (
        delete([1, 10, 2], 0.5, generator())
        == crop([1, 10, 2], 0.5, generator())
        == [1, 10, 2]
    )
    assert crop([1, 2], 0.5, generator()) == [1, 2]


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
