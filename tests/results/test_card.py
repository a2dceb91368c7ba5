"""The model card of a pre-trained encoder, from a made-up record and made-up runs."""

import json

import pytest
from made_up import write

from mocose_study.config import InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.results.models import write_card
from mocose_study.sections import SECTIONS


def test_a_card_has_the_recipe_the_tokens_and_the_scores(study, tmp_path):
    config = PretrainConfig(name="mini", corpus="one.txt")
    with pytest.raises(InputError, match="there is no finished encoder"):
        write_card(tmp_path, config)
    curve = [{"step": 8, "tokens": 1_234_567, "masked": 3.25}]
    record = {"tokens": 1_234_567, "step": 8, "seconds": 120.0, "hardware": "cpu"}
    record = json.dumps(record | {"curve": curve})
    (tmp_path / "pretraining.json").write_text(record)
    mean = SECTIONS["main_results"].config("untrained mean", "mini", 0)
    write(mean, 61.25, "mini")
    write_card(tmp_path, config)
    text = (tmp_path / "README.md").read_text()
    assert "mocose pretrain --profile mini" in text and "masked 3.250" in text
    assert "1,234,567 in 8 steps, 2 minutes" in text
    assert "| untrained mean | 51.2 | 61.2 |" in text
    write_card(tmp_path, PretrainConfig(name="tiny", corpus="one.txt"))
    assert "untrained " not in (tmp_path / "README.md").read_text()  # without runs
