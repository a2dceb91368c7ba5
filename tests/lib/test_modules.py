"""Folders of sentence-transformers: applied as they are, or refused by name."""

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as st
from texts import SENTENCES

from mocose_lib import Encoder, InputError
from mocose_study.results.models import encode_of


@pytest.fixture
def build(tiny, tmp_path):
    """Writes a folder as sentence-transformers does, with 16 tokens."""

    def write(pooling, *more, processing=None, **options):
        how = {"processing_kwargs": processing} if processing else {}
        parts = [st.Transformer(str(tiny), max_seq_length=16, **how), *more]
        parts.insert(1, st.Pooling(16, pooling_mode=pooling))
        model = SentenceTransformer(modules=parts, device="cpu", **options)
        model.save(str(tmp_path / "foreign"), create_model_card=False)
        return tmp_path / "foreign"

    return write


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layout", ["", "0_Transformer"])
def test_a_folder_keeps_its_pooling_and_length(build, pooling, layout):
    folder = build(pooling)
    if layout:  # that of older versions
        (folder / layout).mkdir()
        for file in [path for path in folder.iterdir() if path.is_file()]:
            if not file.name.startswith(("modules", "config_sent")):
                file.rename(folder / layout / file.name)
        text = (folder / "modules.json").read_text()
        text = text.replace('"path": ""', f'"path": "{layout}"')
        (folder / "modules.json").write_text(text)
    encoder = Encoder.load(folder)
    assert (encoder.pooling, encoder.max_length) == (pooling, 16)
    expected = SentenceTransformer(str(folder), device="cpu").encode(SENTENCES)
    for encode in (encoder.encode, encode_of(str(folder))):
        np.testing.assert_allclose(encode(SENTENCES), expected, atol=1e-5)
    assert Encoder.load(folder, "mean", max_length=32).max_length == 32


PROCESSING = {"text": {"max_length": 8, "truncation": True}}
PROMPTS = dict(prompts={"query": "find: "}, default_prompt_name="query")
REFUSED = {
    "Dense": lambda build: build("mean", st.Dense(16, 8)),
    "LayerNorm": lambda build: build("mean", st.LayerNorm(16)),
    "default_prompt_name": lambda build: build("mean", **PROMPTS),
    "truncate_dim": lambda build: build("mean", truncate_dim=8),
    "processing_kwargs": lambda build: build("mean", processing=PROCESSING),
    "pooling max": lambda build: build("max"),
    "pooling that is missing": lambda build: without_pooling(build("mean")),
}


def without_pooling(folder):
    modules = json.loads((folder / "modules.json").read_text())[:1]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_applied_is_refused_by_name(build, what):
    folder = REFUSED[what](build)
    with pytest.raises(InputError, match=f"not applied here: .*{what}; name a pooling"):
        Encoder.load(folder)
    assert Encoder.load(folder, "mean").pooling == "mean"


def test_a_folder_that_they_saved_after_us_is_theirs_until_we_save_again(build, tiny):
    ours, folder = Encoder.load(tiny, "cls"), build("mean", truncate_dim=8)
    (folder / "mocose.json").write_text('{"pooling": "cls", "max_length": 75}')
    theirs = SentenceTransformer(str(folder), device="cpu").encode(SENTENCES)
    assert np.array_equal(encode_of(str(folder))(SENTENCES), theirs)
    with pytest.raises(InputError, match="not applied here: truncate_dim"):
        Encoder.load(folder)
    again = SentenceTransformer(str(ours.save(folder)), device="cpu")
    assert Encoder.load(folder).pooling == "cls" and again.truncate_dim is None


def test_vectors_of_length_1_have_the_same_cosines(build):
    assert Encoder.load(build("mean", st.Normalize())).pooling == "mean"
