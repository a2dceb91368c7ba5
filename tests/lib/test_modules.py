"""Folders of sentence-transformers: their modules are never left out without a word."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as st
from texts import SENTENCES

from mocose_lib import Encoder, InputError
from mocose_lib.evaluation import geometry
from mocose_study.results.use import encode_of


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layout", ["", "0_Transformer"])
def test_a_named_pooling_takes_the_place_of_modules(tiny, tmp_path, pooling, layout):
    parts = [st.Transformer(str(tiny), max_seq_length=16)]
    parts += [st.Pooling(16, pooling_mode=pooling), st.Normalize()]
    folder = tmp_path / "foreign"
    model = SentenceTransformer(modules=parts, device="cpu")
    model.save(str(folder), create_model_card=False)
    if layout:  # that of older versions
        (folder / layout).mkdir()
        for file in [path for path in folder.iterdir() if path.is_file()]:
            if not file.name.startswith(("modules", "config_sent")):
                file.rename(folder / layout / file.name)
        text = (folder / "modules.json").read_text()
        text = text.replace('"path": ""', f'"path": "{layout}"')
        (folder / "modules.json").write_text(text)
    told = "not applied here: Transformer, Pooling, Normalize; name a pooling"
    with pytest.raises(InputError, match=told):
        Encoder.load(folder)
    encoder = Encoder.load(folder, pooling)
    assert (encoder.pooling, encoder.max_length) == (pooling, 16)
    expected = SentenceTransformer(str(folder), device="cpu").encode(SENTENCES)
    found = [geometry.unit(encoder.encode(SENTENCES)), encode_of(folder)(SENTENCES)]
    for vectors in found:
        np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert Encoder.load(folder, "mean", max_length=32).max_length == 32
