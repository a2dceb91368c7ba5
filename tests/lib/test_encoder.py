"""Encoders: pooling by hand, and `encode`, whose numbers depend on sentences alone."""

import re

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import same
from texts import SENTENCES, open_pairs
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertModel

from mocose_lib import Encoder, InputError, Settings, train
from mocose_lib.evaluation import sts
from mocose_lib.train import MoCoSE

POOLINGS = ("cls", "cls_pooler", "mean", "first_last")
SHAPE = dict(num_hidden_layers=1, num_attention_heads=2, hidden_size=32)
SHAPE |= dict(intermediate_size=32)


def one_by_one(encoder, sentence, pooling):
    """The pooling's definition, on one sentence alone, without padding."""
    ids = torch.tensor(encoder.tokenize([sentence]))
    with torch.no_grad():
        states = encoder.model(input_ids=ids, output_hidden_states=True).hidden_states
        first, last = states[0][0], states[-1][0]  # (length, width)
        if pooling == "cls":
            return last[0]
        if pooling == "cls_pooler":
            return encoder.pooler(last[0])
        tokens = last if pooling == "mean" else (first + last) / 2
        return sum(tokens) / len(tokens)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_encode_equals_the_definition_in_batches_of_any_size(folder, pooling):
    encoder = Encoder.load(folder, pooling)
    vectors = torch.from_numpy(encoder.encode(SENTENCES))
    expected = torch.stack([one_by_one(encoder, s, pooling) for s in SENTENCES])
    torch.testing.assert_close(vectors, expected, rtol=1e-4, atol=1e-5)
    assert vectors.dtype == torch.float32
    assert np.array_equal(vectors, Encoder.load(folder, pooling).encode(SENTENCES))
    pairs, scores = open_pairs("images2014", 80), []
    sides = [list(pairs[c]) for c in ("sentence1", "sentence2")]
    for size in (1, 7, 128):
        cosines = sts.cosine(*(encoder.encode(side, batch_size=size) for side in sides))
        scores.append(sts.spearman(cosines, pairs["score"].to_numpy(float)))
    assert max(scores) - min(scores) < 1e-4


def test_order_is_kept_and_equal_sentences_are_encoded_once(encoder, monkeypatch):
    seen, real = [], encoder.tokenize
    monkeypatch.setattr(encoder, "tokenize", lambda s: seen.extend(s) or real(s))
    few = [SENTENCES[i] for i in (2, 0, 2, 1, 2)]
    vectors = encoder.encode(few, batch_size=2)
    assert sorted(seen) == sorted(SENTENCES[:3])
    assert np.array_equal(vectors[0], vectors[2])
    alone = encoder.encode([SENTENCES[1]])
    np.testing.assert_allclose(vectors[3], alone[0], atol=1e-6)
    assert not np.allclose(vectors[0], vectors[1])


def test_encode_turns_dropout_off_and_leaves_mode_and_random_numbers_as_they_were(tiny):
    encoder = Encoder.load(tiny, dropout=0.5).train()
    encoder.model.embeddings.training = False
    parts = encoder.model.modules()
    assert {part.p for part in parts if isinstance(part, torch.nn.Dropout)} == {0.5}
    torch.manual_seed(0)
    assert np.array_equal(encoder.encode(SENTENCES), encoder.encode(SENTENCES))
    after = torch.rand(3)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(3))
    with pytest.raises(ZeroDivisionError):  # so does an error inside
        encoder.encode(SENTENCES, distort=lambda words, mask: 1 / 0)
    assert (
        encoder.training
        and encoder.model.encoder.training
        and not encoder.model.embeddings.training
    )


def test_no_sentence_an_empty_sentence_and_padding_by_hand(encoder):
    assert encoder.encode([]).shape == (0, encoder.width)
    assert np.isfinite(encoder.encode(["", SENTENCES[0]])).all()
    ids, mask = encoder.pad([[2, 9, 3], [2, 3]])
    assert ids.tolist() == [[2, 9, 3], [2, 3, 0]]
    assert mask.tolist() == [[True, True, True], [True, True, False]]


ODD = {  # behind iterators: tests check signatures, and refuse such lists
    "not one text or a table": lambda: "one text",
    "a list of texts, not one": lambda: pd.DataFrame({"sentence": SENTENCES}),
    "one of them is None": lambda: iter([SENTENCES[0], None]),
    "one of them is ('a', 'pair')": lambda: iter([("a", "pair")]),
    "a sentence holds what is no Unicode text": lambda: ["half \ud800 a pair", ""],
}


@pytest.mark.parametrize("said", ODD)
def test_only_a_list_of_texts_is_encoded_and_trained_on(encoder, said):
    for use in (encoder.encode, lambda given: train(encoder, given)):
        with pytest.raises(InputError, match=re.escape(said)):
            use(ODD[said]())


def test_a_generator_or_a_column_is_encoded_like_a_list(encoder):
    expected = encoder.encode(SENTENCES)
    for texts in (iter(SENTENCES), pd.Series(SENTENCES), np.array(SENTENCES)):
        assert np.array_equal(encoder.encode(texts), expected)


# --- positions and layers ---
def assert_positions_count_from_zero(encoder):
    """RoBERTa's own numbers start behind the padding id; callers need not know."""
    ids, mask = encoder.pad(encoder.tokenize(SENTENCES[:6]))
    usual = torch.arange(ids.shape[1]).expand(ids.shape)
    with torch.no_grad():
        given = encoder.words(ids), mask
        torch.testing.assert_close(encoder(*given, usual), encoder(*given))
        turned = encoder(*given, usual.flip(1))
        assert not torch.allclose(turned, encoder(*given), atol=1e-4)


def test_long_sentences_are_cut_at_what_the_encoder_can_read(folder):
    """74 positions (RoBERTa) and 75 (BERT): padding must not overrun either."""
    encoder = Encoder.load(folder, max_length=512)
    assert_positions_count_from_zero(encoder)
    long = " ".join(SENTENCES[:20])
    assert encoder.max_length == (74 if "roberta" in str(folder) else 75)
    assert len(encoder.tokenize([long])[0]) == encoder.max_length
    assert np.isfinite(encoder.encode([long, SENTENCES[0]])).all()
    assert np.array_equal(encoder.encode([long]), encoder.encode([long + " and so on"]))


def written(tiny, folder, kind, **shape):
    """A random encoder of another kind in `folder`, with the tokenizer of `tiny`."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **{"pad_token_id": 0, **shape})
    AutoModel.from_config(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    return folder


RELATIVES = (
    "mpnet data2vec-text roberta-prelayernorm xlm-roberta-xl nystromformer longformer"
)


@pytest.mark.parametrize("kind", RELATIVES.split())
def test_relatives_of_roberta_count_positions_as_it_does(tiny, tmp_path, kind):
    most = 64 if kind == "nystromformer" else 66  # whose table has two rows more
    shape = SHAPE | {"max_position_embeddings": most, "pad_token_id": 1}
    shape |= {"num_landmarks": 64, "attention_window": 8}
    written(tiny, tmp_path, kind, **shape)
    encoder = Encoder.load(tmp_path, max_length=512)
    assert_positions_count_from_zero(encoder)
    assert encoder.positions == encoder.max_length == 64
    assert np.isfinite(encoder.encode([" ".join(SENTENCES[:20])])).all()


@pytest.mark.parametrize("kind", ["roformer", "deberta-v2"])
def test_a_shuffle_of_positions_that_nothing_reads_is_refused(tiny, tmp_path, kind):
    shape = {"position_biased_input": False, "relative_attention": True}
    shape |= {"pos_att_type": ["p2c", "c2p"], "embedding_size": 16} | SHAPE
    encoder = Encoder.load(written(tiny, tmp_path, kind, **shape))
    shuffled = Settings(steps=1, batch_size=2, queue_size=0, position_shuffle=True)
    with pytest.raises(InputError, match=f"no effect on this {kind}; set it to False"):
        train(encoder, SENTENCES, shuffled, bar=False)
    assert not encoder.training and not encoder.pooler_trained


def test_embeddings_are_shared_where_a_model_has_words_alone(tiny, tmp_path):
    shape = {"vocab_size": 999, "bos_token_id": 1} | EURO
    encoder = Encoder.load(written(tiny, tmp_path, "eurobert", **shape))
    shared = Settings(steps=1, batch_size=2, queue_size=0, shared_embeddings=True)
    target = MoCoSE(shared, encoder).target.encoder.model
    words = encoder.model.get_input_embeddings()
    assert target is not encoder.model and target.get_input_embeddings() is words


def test_layers_keeps_the_first_n(folder):
    whole, cut = Encoder.load(folder), Encoder.load(folder, layers=1)
    assert len(cut.model.encoder.layer) == 1
    ids, mask = whole.pad(whole.tokenize(SENTENCES[:1]))
    with torch.no_grad():
        states = whole.model(ids, output_hidden_states=True).hidden_states
        vectors = cut(cut.words(ids), mask)
    torch.testing.assert_close(vectors, states[1][:, 0])


@pytest.mark.parametrize(
    ("kind", "layers"), [("modernbert", "layers"), ("longformer", "encoder.layer")]
)
def test_a_list_by_layer_is_cut_with_the_layers(tiny, tmp_path, kind, layers):
    ends = dict(cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3)
    shape = SHAPE | ends | {"num_hidden_layers": 3, "attention_window": [8] * 3}
    encoder = Encoder.load(written(tiny, tmp_path / "a", kind, **shape), layers=1)
    model = (again := Encoder.load(encoder.save(tmp_path / "b"))).model
    by_layer = getattr(model.config, "layer_types", model.config.attention_window)
    assert len(by_layer) == len(model.get_submodule(layers)) == 1
    assert np.array_equal(encoder.encode(SENTENCES[:3]), again.encode(SENTENCES[:3]))


def test_the_pooler_is_the_checkpoints_own_or_a_fresh_one_from_the_seed(tiny, tmp_path):
    trained = BertModel.from_pretrained(tiny).pooler.dense
    assert same(Encoder.load(tiny).pooler.state_dict(), dict(trained.state_dict()))
    AutoTokenizer.from_pretrained(tiny).save_pretrained(tmp_path)
    bare = BertModel.from_pretrained(tiny, add_pooling_layer=False)
    bare.save_pretrained(tmp_path)
    weights = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        weights.append(Encoder.load(tmp_path).pooler.weight)
    assert torch.equal(*weights[:2]) and not torch.equal(*weights[1:])


# --- dropout ---
XLM = dict(emb_dim=16, n_layers=1, n_heads=2, max_position_embeddings=64)
EURO = SHAPE | {"eos_token_id": 2, "num_key_value_heads": 2}


@pytest.mark.parametrize(("kind", "shape"), [("xlm", XLM), ("eurobert", EURO)])
def test_a_rate_that_a_model_keeps_as_a_number_acts(tiny, tmp_path, kind, shape):
    written(tiny, tmp_path, kind, vocab_size=999, bos_token_id=1, **shape)
    encoder, state = Encoder.load(tmp_path), torch.get_rng_state()
    encoder.check_dropout()  # draws no number, and leaves the mode
    assert torch.equal(state, torch.get_rng_state()) and not encoder.training


def test_a_model_without_dropout_is_not_trained_as_if_it_had_one(encoder):
    for part in encoder.model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    quick = Settings(steps=1, batch_size=2, queue_size=0)
    assert len(encoder.encode(SENTENCES[:2])) == 2  # which needs no dropout
    with pytest.raises(InputError, match=r"dropout = 0\.1 has no effect on this bert"):
        train(encoder, SENTENCES, quick, bar=False)
    encoder.dropout = 0.0
    train(encoder, SENTENCES, quick, bar=False)
