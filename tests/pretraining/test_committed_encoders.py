"""The committed encoders: made as their cards say, loadable by transformers."""

import json
from dataclasses import asdict

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer, BertForMaskedLM

from mocose_study.config.profiles import PRETRAINING
from mocose_study.data.files import study_folder

FOLDER = study_folder() / "data" / "encoders"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/pretraining.json"))


def record_of(name: str) -> dict:
    return json.loads((FOLDER / name / "pretraining.json").read_text())


@pytest.mark.parametrize("name", [n for n in NAMES if "text" in record_of(n)["config"]])
def test_an_encoder_was_made_by_its_recipe_and_its_card_says_so(name):
    record = record_of(name)
    recipe = json.loads(json.dumps(asdict(PRETRAINING[name])))
    assert recipe == recipe | record["config"]  # fields that came later have defaults
    assert record["step"] == recipe["steps"] == record["curve"][-1]["step"]
    card = (FOLDER / name / "README.md").read_text()
    assert f"mocose pretrain --profile {name}" in card
    assert f"{record['tokens']:,} in {record['step']:,} steps" in card


@pytest.mark.parametrize("name", NAMES)
def test_an_encoder_is_fp16_and_predicts_words_with_plain_transformers(name):
    weights = load_file(FOLDER / name / "model.safetensors")
    assert {part.dtype for part in weights.values()} == {torch.float16}
    model = BertForMaskedLM.from_pretrained(FOLDER / name, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(FOLDER / name)
    assert len(tokenizer) == model.config.vocab_size
    asked = tokenizer("he was born in [MASK] .", return_tensors="pt")
    with torch.no_grad():
        scores = model(**asked).logits[0]
    place = asked["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    years = tokenizer.convert_tokens_to_ids(["1950", "1960", "1970"])
    others = tokenizer.convert_tokens_to_ids(["playing", "and", "of"])
    assert scores[place, years].min() > scores[place, others].max()
