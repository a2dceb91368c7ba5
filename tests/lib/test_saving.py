"""A saved encoder gives the same vectors in sentence-transformers, transformers and here."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from texts import SENTENCES

from mocose_lib import Encoder

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
        torch.nn.init.normal_(encoder.pooler.weight)  # trained: no longer the checkpoint's
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
        np.testing.assert_allclose(found[reader], expected[pooling], atol=1e-5, err_msg=reader)
    modules = json.loads((folder / pooling / "modules.json").read_text())
    assert [module["type"].rpartition(".")[2] for module in modules] == POOLINGS[pooling]
    assert not [*folder.rglob("*.bin"), *folder.rglob("*.pt")]


def test_a_folder_that_is_written_again_keeps_nothing_of_the_other_pooling(tiny, tmp_path):
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
