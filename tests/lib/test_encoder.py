"""Encoders: pooling by hand, and `encode`, whose numbers may depend on the sentences alone."""

import json
import re
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import same
from safetensors.torch import load_file, save_file
from texts import SENTENCES, open_pairs
from tokenizers import normalizers
from transformers import AutoConfig, AutoModel, AutoTokenizer, logging

from mocose_lib import Encoder, InputError, Settings, train
from mocose_lib.evaluation import sts

SHAPE = dict(
    hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
)
POOLINGS = ("cls", "cls_pooler", "mean", "first_last")


@pytest.fixture(params=["bert", "roberta"])
def folder(request, tiny, tiny_roberta):
    return str(tiny if request.param == "bert" else tiny_roberta)


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
def test_encode_equals_the_definition_sentence_by_sentence(folder, pooling):
    encoder = Encoder.load(folder, pooling)
    found = encoder.encode(SENTENCES)
    expected = torch.stack([one_by_one(encoder, s, pooling) for s in SENTENCES])
    torch.testing.assert_close(torch.from_numpy(found), expected, rtol=1e-4, atol=1e-5)


def test_encode_twice_gives_the_same_bits(folder):
    encoder = Encoder.load(folder)
    first = encoder.encode(SENTENCES)
    assert np.array_equal(first, encoder.encode(SENTENCES))
    assert np.array_equal(first, Encoder.load(folder).encode(SENTENCES))
    assert first.dtype == np.float32 and first.shape == (len(SENTENCES), encoder.width)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_batch_size_does_not_change_a_score(folder, pooling):
    encoder = Encoder.load(folder, pooling)
    pairs = open_pairs("images2014", 80)
    scores = []
    for size in (1, 7, 128):
        a, b = (
            encoder.encode(list(pairs[c]), batch_size=size)
            for c in ("sentence1", "sentence2")
        )
        scores.append(sts.spearman(sts.cosine(a, b), pairs["score"].to_numpy(float)))
    assert max(scores) - min(scores) < 1e-4


def test_order_is_kept_and_equal_sentences_are_encoded_once(encoder, monkeypatch):
    seen = []
    real = encoder.tokenize
    monkeypatch.setattr(
        encoder, "tokenize", lambda texts: seen.extend(texts) or real(texts)
    )
    few = [SENTENCES[2], SENTENCES[0], SENTENCES[2], SENTENCES[1], SENTENCES[2]]
    found = encoder.encode(few, batch_size=2)
    assert sorted(seen) == sorted(SENTENCES[:3])
    assert np.array_equal(found[0], found[2]) and np.array_equal(found[0], found[4])
    alone = encoder.encode([SENTENCES[1]])
    np.testing.assert_allclose(found[3], alone[0], atol=1e-6)
    assert not np.allclose(found[0], found[1])


def test_encode_turns_dropout_off_and_leaves_mode_and_random_numbers_as_they_were(tiny):
    encoder = Encoder.load(str(tiny), dropout=0.5).train()
    assert {
        m.p for m in encoder.model.modules() if isinstance(m, torch.nn.Dropout)
    } == {0.5}
    torch.manual_seed(0)
    assert np.array_equal(encoder.encode(SENTENCES), encoder.encode(SENTENCES))
    after = torch.rand(3)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(3))
    assert encoder.training and encoder.model.encoder.training


def test_no_sentence_an_empty_sentence_and_padding_by_hand(encoder):
    assert encoder.encode([]).shape == (0, encoder.width)
    assert np.isfinite(encoder.encode(["", SENTENCES[0]])).all()
    ids, mask = encoder.pad([[2, 9, 3], [2, 3]])
    assert encoder.tokenizer.pad_token_id == 0 and ids.tolist() == [
        [2, 9, 3],
        [2, 3, 0],
    ]
    assert mask.tolist() == [[True, True, True], [True, True, False]]


@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        ("one text", "must be a list of texts, not one text or a table"),
        (
            pd.DataFrame({"sentence": SENTENCES}),
            "must be a list of texts, not one text or a table",
        ),
        # behind iterators, since the checked signatures of these tests refuse such lists first
        ([SENTENCES[0], None].__iter__, "must be texts, but one of them is None"),
        ([("a", "pair")].__iter__, "must be texts, but one of them is ('a', 'pair')"),
    ],
)
def test_only_a_list_of_texts_is_encoded_and_trained_on(encoder, sentences, said):
    for use in (encoder.encode, lambda given: train(encoder, given)):
        with pytest.raises(InputError, match=re.escape(said)):
            use(sentences() if callable(sentences) else sentences)


def test_a_generator_or_a_column_is_encoded_like_a_list(encoder):
    expected = encoder.encode(SENTENCES)
    for sentences in (
        (s for s in SENTENCES),
        pd.Series(SENTENCES),
        np.array(SENTENCES),
    ):
        assert np.array_equal(encoder.encode(sentences), expected)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"layers": -1},
            r"encoder_layers = -1 is out of range; it must lie in \[1, 2\]",
        ),
        ({"max_length": 2}, "max_length = 2 is out of range"),  # [CLS] and [SEP] alone
    ],
)
def test_layers_and_lengths_that_are_not_there(tiny, options, said):
    with pytest.raises(InputError, match=said):
        Encoder.load(tiny, **options)


RELATIVES = (
    "mpnet data2vec-text roberta-prelayernorm xlm-roberta-xl nystromformer".split()
)


@pytest.mark.parametrize("kind", RELATIVES)
def test_relatives_of_roberta_count_positions_as_it_does(tiny, tmp_path, kind):
    most = (
        64 if kind == "nystromformer" else 66
    )  # whose table has two rows more than it says
    shape = SHAPE | {
        "max_position_embeddings": most,
        "pad_token_id": 1,
        "num_landmarks": 64,
    }
    torch.manual_seed(0)
    AutoModel.from_config(AutoConfig.for_model(kind, **shape)).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(tmp_path)
    encoder = Encoder.load(str(tmp_path), max_length=512)
    test_position_numbers_from_zero_mean_the_usual_order(str(tmp_path))
    assert encoder.positions == encoder.max_length == 64
    assert np.isfinite(encoder.encode([" ".join(SENTENCES[:20])])).all()


def test_a_tokenizer_that_was_changed_gives_its_new_ids(tiny):
    encoder = Encoder.load(str(tiny))
    backend = encoder.tokenizer.backend_tokenizer
    seen = [encoder.tokenize(["The dog ran home"])[0]]
    backend.normalizer = normalizers.Replace("dog", "cat")
    seen.append(encoder.tokenize(["The dog ran home"])[0])
    encoder.tokenizer.add_tokens(["home"])
    seen.append(encoder.tokenize(["The dog ran home"])[0])
    assert seen[0] != seen[1] != seen[2]
    assert seen[2] == encoder.tokenizer("The dog ran home")["input_ids"]


def test_layers_keeps_the_first_n(folder):
    whole, cut = Encoder.load(folder), Encoder.load(folder, layers=1)
    assert len(cut.model.encoder.layer) == 1
    ids, mask = whole.pad(whole.tokenize(SENTENCES[:1]))
    with torch.no_grad():
        states = whole.model(ids, output_hidden_states=True).hidden_states
        found = cut(cut.words(ids), mask)
    torch.testing.assert_close(found, states[1][:, 0])
    with pytest.raises(InputError, match=r"encoder_layers = 3 .* must lie in \[1, 2\]"):
        Encoder.load(folder, layers=3)


def test_position_numbers_from_zero_mean_the_usual_order(folder):
    """RoBERTa's own numbers start behind the padding id; callers need not know."""
    encoder = Encoder.load(folder)
    ids, mask = encoder.pad(encoder.tokenize(SENTENCES[:6]))
    usual = torch.arange(ids.shape[1]).expand(ids.shape)
    with torch.no_grad():
        words = encoder.words(ids)
        torch.testing.assert_close(encoder(words, mask, usual), encoder(words, mask))
        assert not torch.allclose(
            encoder(words, mask, usual.flip(1)), encoder(words, mask), atol=1e-4
        )


def test_long_sentences_are_cut_at_what_the_encoder_can_read(folder):
    """74 positions (RoBERTa) and 75 (BERT): neither may be overrun by padding to a multiple of 8."""
    encoder = Encoder.load(folder, max_length=512)
    long = " ".join(SENTENCES[:20])
    assert encoder.max_length == (74 if "roberta" in folder else 75)
    assert len(encoder.tokenize([long])[0]) == encoder.max_length
    assert np.isfinite(encoder.encode([long, SENTENCES[0]])).all()
    assert np.array_equal(encoder.encode([long]), encoder.encode([long + " and so on"]))


def test_the_pooler_is_the_checkpoints_own_or_a_fresh_one_from_the_seed(tiny, tmp_path):
    from transformers import BertModel

    trained = BertModel.from_pretrained(tiny).pooler.dense
    assert same(Encoder.load(str(tiny)).pooler.state_dict(), dict(trained.state_dict()))
    shutil.copytree(tiny, tmp_path / "bare")
    BertModel.from_pretrained(tiny, add_pooling_layer=False).save_pretrained(
        tmp_path / "bare"
    )
    weights = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        weights.append(Encoder.load(str(tmp_path / "bare")).pooler.weight)
    assert torch.equal(weights[0], weights[1]) and not torch.equal(
        weights[0], weights[2]
    )


def cut_off(file):
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes()[:50])


def without(folder, rows=0):
    """Two weights keep only some rows, or are lost; transformers would make them up."""
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if "layer.1.output.dense" in name]:
        value = weights.pop(name)
        if rows:
            weights[name] = value[:rows].clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def foreign_dense(folder):
    """A further module of sentence-transformers that makes vectors narrower."""
    (folder / "2_Dense").mkdir()
    save_file(
        {"linear.weight": torch.zeros(4, 16)}, folder / "2_Dense" / "model.safetensors"
    )
    module = {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    (folder / "modules.json").write_text(json.dumps([module]))


DAMAGES = {
    "a dense layer of another shape": (foreign_dense, "damaged"),
    "half of what was noted": (
        lambda folder: (folder / "mocose.json").write_text("{"),
        "damaged",
    ),
    "half the weights": (cut_off("model.safetensors"), "damaged"),
    "half the settings": (cut_off("config.json"), "damaged"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "damaged"),
    "lost weights": (without, "2 of its weights"),
    "misshapen weights": (partial(without, rows=3), "damaged"),
}


@pytest.mark.parametrize(("damage", "told"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_encoder_is_one_clear_sentence(tiny, tmp_path, damage, told):
    folder = shutil.copytree(tiny, tmp_path / "broken")
    damage(folder)
    with pytest.raises(InputError, match=told) as caught:
        Encoder.load(folder)
    assert str(folder) in str(caught.value) and "\n" not in str(caught.value)


def test_a_name_or_a_pooling_that_does_not_exist_is_one_clear_sentence(tiny):
    with pytest.raises(
        InputError, match="'nobody/no-such-encoder' is no folder with a model"
    ):
        Encoder.load("nobody/no-such-encoder")
    with pytest.raises(InputError, match="pooling = 'max' is not possible"):
        Encoder.load(tiny, pooling="max")


@pytest.mark.parametrize("name", ["tiny", "no/such/folder"])
def test_a_name_that_the_hub_cannot_have_is_never_asked_for(name, monkeypatch):
    monkeypatch.setattr(
        AutoConfig, "from_pretrained", lambda *a, **b: pytest.fail("asked")
    )
    with pytest.raises(
        InputError, match=f"'{name}' is no folder with a model; give one, or a"
    ):
        Encoder.load(name)


def written(tiny, folder, kind, **shape):
    """A random encoder of another kind in `folder`, with the tokenizer of `tiny`."""
    config = AutoConfig.for_model(kind, pad_token_id=0, **shape)
    AutoModel.from_config(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    return folder


XLM = dict(emb_dim=16, n_layers=1, n_heads=2, max_position_embeddings=64)
EURO = SHAPE | {"eos_token_id": 2, "num_key_value_heads": 2}


@pytest.mark.parametrize(("kind", "shape"), [("xlm", XLM), ("eurobert", EURO)])
def test_a_rate_that_a_model_keeps_as_a_number_acts(tiny, tmp_path, kind, shape):
    written(tiny, tmp_path, kind, vocab_size=999, bos_token_id=1, **shape)
    Encoder.load(tmp_path).check_dropout()


def test_a_model_without_dropout_is_not_trained_as_if_it_had_one(encoder):
    for part in encoder.model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    quick = Settings(steps=1, batch_size=2, queue_size=0, queue_init=0)
    assert len(encoder.encode(SENTENCES[:2])) == 2  # which needs no dropout
    with pytest.raises(
        InputError, match="dropout = 0.1 has no effect on this bert; set"
    ):
        train(encoder, SENTENCES, quick, bar=False)
    encoder.dropout = 0.0
    train(encoder, SENTENCES, quick, bar=False)


def test_asking_for_the_effect_of_dropout_draws_no_number(encoder):
    state = torch.get_rng_state()
    encoder.check_dropout()
    assert torch.equal(state, torch.get_rng_state()) and not encoder.training


def test_a_model_with_a_list_by_layer_is_saved_with_fewer_layers(tiny, tmp_path):
    ends = dict(cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3)
    ends |= SHAPE | {"num_hidden_layers": 3}
    written(tiny, tmp_path / "a", "modernbert", **ends)
    encoder = Encoder.load(tmp_path / "a", layers=1)
    again = Encoder.load(encoder.save(tmp_path / "b"))
    assert len(again.model.config.layer_types) == len(again.model.layers) == 1
    assert np.array_equal(encoder.encode(SENTENCES[:3]), again.encode(SENTENCES[:3]))


def test_code_in_an_encoders_folder_is_never_executed(tiny, tmp_path):
    """`auto_map` names classes in files of the folder, which transformers would import."""
    folder = tmp_path / "hostile"
    shutil.copytree(tiny, folder)
    config = json.loads((folder / "config.json").read_text())
    classes = {"AutoConfig": "hostile.Config", "AutoModel": "hostile.Model"}
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": classes}))
    touched = tmp_path / "executed"
    (folder / "hostile.py").write_text(
        f"open({str(touched)!r}, 'w')\nclass Config: pass\nModel = Config\n"
    )
    assert np.array_equal(
        Encoder.load(folder).encode(SENTENCES), Encoder.load(tiny).encode(SENTENCES)
    )
    assert not touched.exists()


def test_loading_is_silent_about_heads_that_an_encoder_does_not_need(tiny, capfd):
    """The folder has the heads of the pre-training; transformers would print a table of them."""
    told = logging.get_verbosity()
    Encoder.load(tiny)
    assert (
        "UNEXPECTED" not in capfd.readouterr().err and logging.get_verbosity() == told
    )
