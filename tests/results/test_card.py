"""The model card of a pre-trained encoder, from a made-up record and made-up runs."""

import json

import pytest
from made_up import write

from mocose_study.config import InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.results.use import write_card
from mocose_study.sections import SECTIONS

RECORD = {
    "tokens": 1_234_567,
    "step": 8,
    "seconds": 120.0,
    "hardware": "cpu",
    "curve": [{"step": 8, "tokens": 1_234_567, "masked": 3.25}],
}


def test_a_card_has_the_recipe_the_tokens_and_the_scores(study):
    folder = study / "encoder"
    folder.mkdir()
    (folder / "pretraining.json").write_text(json.dumps(RECORD))
    label = "untrained mean"
    config = SECTIONS["main_results"].config(label, "mini", 0)
    write(config, score=61.25, profile="mini")
    write_card(folder, PretrainConfig(name="mini", corpus="one.txt"))
    text = (folder / "README.md").read_text()
    assert (
        "mocose pretrain --profile mini" in text
        and "1,234,567 in 8 steps, 2 minutes" in text
    )
    assert "masked 3.250" in text
    assert f"| {label.removeprefix('untrained ')} | 51.2 | 61.2 |" in text
    write_card(folder, PretrainConfig(name="tiny", corpus="one.txt"))
    assert "(no runs yet)" in (folder / "README.md").read_text()


def test_a_card_needs_a_finished_encoder(tmp_path):
    with pytest.raises(InputError, match="there is no finished encoder"):
        write_card(tmp_path, PretrainConfig())
