"""The encoders in this repository: small, made as their cards say, loadable by transformers."""

import json
import shlex
from dataclasses import asdict

import pytest
import torch
import tyro
from safetensors.torch import load_file
from transformers import AutoTokenizer, BertForPreTraining

from mocose_study.results.card import command, recommended, scores
from mocose_study.config import Config, vary
from mocose_study.data.files import STUDY
from mocose_study.config.profiles import PRETRAINING, configure

FOLDER = STUDY / "data" / "encoders"
NAMES = sorted(path.name for path in FOLDER.iterdir())
LIMIT = 16_000_000  # bytes, all of them together


def test_all_recipes_have_their_encoder_and_they_stay_small():
    assert set(NAMES) == set(PRETRAINING)
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.*")) < LIMIT


@pytest.mark.parametrize("name", NAMES)
def test_an_encoder_was_made_by_its_recipe_and_its_card_says_so(name):
    record = json.loads((FOLDER / name / "pretraining.json").read_text())
    recipe = json.loads(json.dumps(asdict(PRETRAINING[name])))
    assert record["config"] == recipe
    assert record["step"] == recipe["steps"] == record["curve"][-1]["step"]
    card = (FOLDER / name / "README.md").read_text()
    assert f"mocose pretrain --profile {name}" in card
    assert f"{record['tokens']:,} in {record['step']:,} steps" in card
    assert scores(name) in card and recommended(name) in card and "no runs" not in card


def test_a_recommended_command_gives_the_config_it_was_written_for():
    config = configure("tiny", encoder="mini", batch_negatives=True, queue_size=128, queue_init=32,
                       detach_keys=False, shared_embeddings=True, lr=5e-4)  # fmt: skip
    words = shlex.split(command(config))
    assert words[:6] == ["mocose", "run", "--profile", "tiny", "--data", "DATA"]
    assert tyro.cli(Config, args=words[6:], default=configure("tiny")) == config
    assert "--seed 1" in command(vary(config, seed=1)) and "--seed" not in command(config)


@pytest.mark.parametrize("name", NAMES)
def test_an_encoder_is_fp16_and_predicts_words_with_plain_transformers(name):
    weights = load_file(FOLDER / name / "model.safetensors")
    assert {part.dtype for part in weights.values()} == {torch.float16}
    model = BertForPreTraining.from_pretrained(FOLDER / name, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(FOLDER / name)
    assert len(tokenizer) == model.config.vocab_size
    asked = tokenizer("he was born in [MASK] .", return_tensors="pt")
    with torch.no_grad():
        scores = model(**asked).prediction_logits[0]
    place = asked["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    years = tokenizer.convert_tokens_to_ids(["1950", "1960", "1970"])
    others = tokenizer.convert_tokens_to_ids(["playing", "and", "of"])
    assert scores[place, years].min() > scores[place, others].max()
