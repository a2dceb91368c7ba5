"""Folders of all kinds: read, or refused in one sentence; nothing is executed."""

import json
import shutil
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from test_encoder import SHAPE, written
from texts import SENTENCES
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast, logging

from mocose_lib import Encoder, InputError, Settings, train
from mocose_lib.loading import check_reading


@pytest.fixture
def broken(tiny, tmp_path):
    """A copy of `tiny` to damage."""
    return shutil.copytree(tiny, tmp_path / "broken")


# --- damaged files ---
def cut_off(file, folder):
    (folder / file).write_bytes((folder / file).read_bytes()[:50])


def holding(file, text, folder):
    (folder / file).write_text(text)


def changed(folder, **values):
    config = json.loads((folder / "config.json").read_text()) | values
    (folder / "config.json").write_text(json.dumps(config))


def with_weights(change, folder):
    """`change` gives the new value of two weights, or None to lose them."""
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if "layer.1.output.dense" in name]:
        value = change(weights.pop(name))
        if value is not None:
            weights[name] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def pickled(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")


def more_words(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["covid"])
    tokenizer.save_pretrained(folder)


DAMAGES = {
    "half the weights": partial(cut_off, "model.safetensors"),
    "half the settings": partial(cut_off, "config.json"),
    "half of what was noted": partial(holding, "mocose.json", "{"),
    "modules that are numbers": partial(holding, "modules.json", "[1]"),
    "a tokenizer's list": partial(holding, "tokenizer_config.json", "[]"),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "2 of its weights": partial(with_weights, lambda value: None),
    "misshapen": partial(with_weights, lambda value: value[:3].clone()),
    "NaN or infinity": partial(with_weights, lambda value: value * torch.nan),
    "a pickle": pickled,
    "the id 293, its model 293": more_words,
    "a width of text": partial(changed, hidden_size="16"),
    "no heads": partial(changed, num_attention_heads=0),
    "no width": partial(changed, hidden_size=None),
    "no words": partial(changed, vocab_size=0),
    "asks for 1000000 layers": partial(changed, num_hidden_layers=1_000_000),
    "quantised": partial(changed, quantization_config={"quant_method": "gptq"}),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_encoder_is_one_clear_sentence(broken, kind):
    DAMAGES[kind](broken)
    with pytest.raises(InputError, match="damaged") as caught:
        Encoder.load(broken)
    said = str(caught.value)
    assert str(broken) in said and "\n" not in said
    if kind[0].isdigit() or kind.startswith(("mis", "NaN", "the", "asks")):
        assert kind in said


@pytest.mark.parametrize("name", ["nobody/no-such-encoder", "tiny", "a/b/c", ""])
def test_a_name_that_the_hub_cannot_have_is_never_asked_for(name, monkeypatch):
    said = "is no folder with a model, and the hub did not"
    if name.count("/") != 1:
        said = "is no folder with a model; give one, or a"
        asked = lambda *a, **b: pytest.fail("asked")  # noqa: E731
        monkeypatch.setattr(AutoConfig, "from_pretrained", asked)
    with pytest.raises(InputError, match=f"'{name}' {said}"):
        Encoder.load(name)


OPTIONS = {
    "layers = -1": {"layers": -1},
    "layers = 3 .* less than or equal to 2": {"layers": 3},
    "max_length = 2": {"max_length": 2},  # [CLS] and [SEP] alone
    "pooling = 'max'": {"pooling": "max"},
    r"dropout = 1\.5": {"dropout": 1.5},
}


@pytest.mark.parametrize("said", OPTIONS)
def test_an_option_that_is_not_possible_is_named(tiny, said):
    with pytest.raises(InputError, match=said):
        Encoder.load(tiny, **OPTIONS[said])


def test_code_in_an_encoders_folder_is_never_executed(tiny, broken, tmp_path):
    """`auto_map` names classes in files that transformers would import."""
    changed(broken, auto_map={"AutoConfig": "bad.Config", "AutoModel": "bad.Model"})
    touched = tmp_path / "executed"
    code = f"open({str(touched)!r}, 'w')\nclass Config: pass\nModel = Config\n"
    (broken / "bad.py").write_text(code)
    vectors = (Encoder.load(folder).encode(SENTENCES) for folder in (broken, tiny))
    assert np.array_equal(*vectors) and not touched.exists()


def test_loading_is_silent_about_heads_that_an_encoder_does_not_need(tiny, capfd):
    """The folder has pre-training's heads; transformers would print a table of them."""
    told = logging.get_verbosity()
    Encoder.load(tiny)
    assert "UNEXPECTED" not in capfd.readouterr().err
    assert logging.get_verbosity() == told


# --- other architectures ---
KINDS = {
    "squeezebert": (SHAPE | {"embedding_size": 32, "num_attention_heads": 4}, ""),
    "fnet": (SHAPE, ""),
    "bart": (dict(encoder_layers=2, d_model=32), "has no vector for each token"),
    "esm": (SHAPE | {"token_dropout": True, "mask_token_id": 4}, "more with ids than"),
    "gpt2": (dict(n_embd=32, n_layer=1, n_head=2), "reads from left to right only"),
    "xlnet": (dict(d_model=32, n_layer=1, n_head=4), "no limit of positions"),
    "t5": (dict(d_model=32, num_layers=2, num_heads=4), "no limit of positions"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_another_architecture_is_read_or_refused(tiny, tmp_path, kind, caplog):
    shape, said = KINDS[kind]
    written(tiny, tmp_path, kind, vocab_size=300, **shape)
    if not said:
        encoder = Encoder.load(tmp_path / "")
        again = Encoder.load(encoder.save(tmp_path / "saved"))
        assert np.array_equal(encoder.encode(SENTENCES), again.encode(SENTENCES))
        assert ("reads padding, too" in caplog.text) == (kind == "fnet")
    else:
        with pytest.raises(InputError, match=f"is a {kind}, which .*{said}"):
            Encoder.load(tmp_path)


def test_vectors_of_another_width_than_the_config_says_are_refused(encoder):
    encoder.model.config.hidden_size = 8
    with pytest.raises(InputError, match="has no vector for each token"):
        check_reading("it", encoder.model)


# --- other tokenizers ---
def foreign(folder, template="[CLS] $A [SEP]", **names):
    words = ["[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(40))]
    ids = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(ids, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = dict(pair=None, special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    tokenizer.post_processor = processors.TemplateProcessing(single=template, **ends)
    names = {"unk_token": "[UNK]", **names}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def test_a_tokenizer_without_a_padding_token_works(broken, tmp_path):
    foreign(broken, cls_token="[CLS]", sep_token="[SEP]")
    texts = [f"w{i} w{i + 1}" + " w3" * (i % 3) for i in range(30)]
    encoder = Encoder.load(broken, "mean")
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts), alone, atol=1e-5)
    train(encoder, texts, Settings(steps=2, batch_size=4, queue_size=8), bar=False)
    saved = SentenceTransformer(str(encoder.save(tmp_path / "saved")), device="cpu")
    np.testing.assert_allclose(saved.encode(texts), encoder.encode(texts), atol=1e-5)


def test_a_tokenizer_without_the_special_tokens_that_are_needed_is_refused(broken):
    foreign(broken, "$A")
    with pytest.raises(InputError, match="puts no token before or behind a sentence"):
        Encoder.load(broken, "mean")
    foreign(broken, "$A [SEP]")
    with pytest.raises(InputError, match=r"puts no \[CLS\] .*; set pooling = 'mean'"):
        Encoder.load(broken, "cls")
    assert np.isfinite(Encoder.load(broken, "mean").encode(["", "w1"])).all()
