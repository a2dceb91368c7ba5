"""Pre-training: what is masked, what is resumed, and what is committed."""

import json
from collections import defaultdict
from copy import deepcopy
from dataclasses import asdict
from itertools import chain

import numpy as np
import pytest
import torch
from conftest import tokenizer
from safetensors.torch import load_file
from texts import articles, open_sentences, stop
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, pipeline

from mocose_lib import Encoder, InputError
from mocose_study.config.profiles import PRETRAINING, PretrainConfig
from mocose_study.data.corpora import load_corpus, tokenized
from mocose_study.data.files import study_folder
from mocose_study.pretraining import pretrain as p
from mocose_study.pretraining.pretrain import CLS, MASK, PAD, SEP, Pretraining

SIZES = dict(layers=1, hidden_size=16, attention_heads=2, vocab_size=400)
SIZES |= dict(max_positions=40, length=16, tokens_per_batch=512, corpus_size=300)
TRAINING = dict(steps=6, warmup_steps=2, bf16=False)
both = pytest.mark.parametrize("text", ["contiguous", "sentences"])


@pytest.fixture
def recipe(study):
    """Makes recipes for 300 sentences in documents of ten, with words in `study`."""
    tokenizer().save_pretrained(study)
    corpus = str(articles(study / "text.txt", 30, 10))
    return lambda **fields: PretrainConfig("small", corpus, **SIZES | TRAINING | fields)


@pytest.fixture
def made(recipe, study):
    """Pre-trains in the folder of that name: its record, and its weights as bytes."""

    def make(name, **fields):
        tokenizer().save_pretrained(study / name)
        p.make_encoder(recipe(**fields), study / name)
        record = json.loads((study / name / "pretraining.json").read_text())
        return record, (study / name / "model.safetensors").read_bytes()

    return make


@pytest.mark.parametrize("units", [True, False])
def test_bf16_is_left_out_without_units_for_it(made, monkeypatch, units):
    monkeypatch.setattr(p, "fast_in_bf16", lambda device: units)
    (_, half), (_, whole) = (made(f"{b}", bf16=b, steps=2) for b in (True, False))
    assert (half != whole) is units


def test_contiguous_rows_are_running_text_with_sep_between_documents(recipe, study):
    config = recipe(text="contiguous")
    texts = defaultdict(list)
    for row in tokenized(load_corpus(config.corpus, 300), tokenizer(), None):
        texts[row["document"]] += row["input_ids"]
    first, *others = texts.values()
    stream = [*first, *chain(*([SEP, *text] for text in others))]
    rows = Pretraining(config, study).text
    inside = rows[:, 1:-1].flatten().tolist()
    assert rows.shape == (len(stream) // 14, 16) and stream.count(SEP) == 29
    assert inside == stream[: len(inside)]
    assert (rows[:, 0] == CLS).all() and (rows[:, -1] == SEP).all()


@both
def test_what_is_masked_is_known(recipe, study, text):
    """And a function of seed and step. `mask_tokens` has tests of its own."""
    training, rows = Pretraining(recipe(text=text), study), np.arange(5, 105)
    seen, places, targets = training.batch(rows, 7)
    given = [[*row, *[PAD] * (16 - len(row))] for row in training.text[rows]]
    original, seen = np.array(given).flatten(), seen.flatten()
    assert len(set(places)) == len(places) == int(0.15 * (original > MASK).sum())
    assert (original[places] == targets).all() and (targets > MASK).all()
    assert {*np.flatnonzero(seen != original)} <= {*places}
    other = Pretraining(recipe(text=text, seed=1), study)
    again = [t.batch(rows, n)[1] for t, n in ((training, 7), (training, 8), (other, 7))]
    assert [np.array_equal(places, x) for x in again] == [True, False, False]


@both
def test_the_loss_is_that_of_the_whole_model(recipe, study, text):
    training = Pretraining(recipe(text=text, length=80, max_positions=80), study)
    rows = np.arange(32)
    ids, places, targets = map(torch.from_numpy, training.batch(rows, 1))
    labels = torch.full_like(ids, -100)
    labels.view(-1)[places] = targets
    for part in training.online.parameters():
        part.data *= 5  # so that a seen padding would show
    model = deepcopy(training.online).eval()
    expected = model(ids, attention_mask=(ids != PAD).long(), labels=labels).loss
    training.step(rows, 1)
    assert training.losses[0].item() == pytest.approx(expected.item(), rel=1e-5)
    assert training.record["tokens"] == (ids > SEP).sum()


@both
def test_an_interrupted_training_goes_on_as_if_unbroken(
    made, eager, monkeypatch, text, study
):
    """And a checkpoint of other settings is refused."""
    monkeypatch.setattr(p, "NOTE_EVERY", 4)
    fields = dict(steps=10, dropout=0.1, text=text)
    whole, weights = made("whole", **fields)
    assert [point["step"] for point in whole["curve"]] == [4, 8, 10]
    with monkeypatch.context() as once, pytest.raises(KeyboardInterrupt):
        once.setattr(Pretraining, "note", stop)  # the checkpoint is one step older
        made("killed", **fields)
    with pytest.raises(InputError, match="belongs to other settings"):
        made("killed", **fields | {"masked": 0.2})
    killed, found = made("killed", **fields)
    assert found == weights and not (study / "killed" / "state.pt").exists()
    same = ("config", "hardware", "step", "tokens", "curve")
    assert [killed[key] for key in same] == [whole[key] for key in same]


def test_make_encoder_leaves_what_plain_transformers_loads(recipe, study):
    config, folder = recipe(steps=2), study / "encoder"
    p.make_encoder(config, folder)
    assert AutoModel.from_pretrained(folder).config.hidden_size == 16
    assert AutoModelForMaskedLM.from_pretrained(folder).config.vocab_size == 400
    (sentence,) = open_sentences(1)
    ids = AutoTokenizer.from_pretrained(folder)(sentence)["input_ids"]
    assert ids[0] == CLS and ids[-1] == SEP and len(ids) > 4
    assert Encoder.load(str(folder)).encode([sentence]).shape == (1, 16)
    record = json.loads((folder / "pretraining.json").read_text())
    assert PretrainConfig(**record["config"]) == config
    with pytest.raises(InputError, match="there is an encoder in"):
        p.make_encoder(config, folder)


# --- the committed encoders ---
FOLDER = study_folder() / "data" / "encoders"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/pretraining.json"))


@pytest.mark.parametrize("name", NAMES)
def test_an_encoder_was_made_by_its_recipe_and_its_card_says_so(name):
    record = json.loads((FOLDER / name / "pretraining.json").read_text())
    made_by = json.loads(json.dumps(asdict(PRETRAINING[name])))
    assert made_by == made_by | record["config"]  # later fields have defaults
    assert record["step"] == made_by["steps"] == record["curve"][-1]["step"]
    card = (FOLDER / name / "README.md").read_text()
    assert f"mocose pretrain --profile {name}" in card
    assert f"{record['tokens']:,} in {record['step']:,} steps" in card


@pytest.mark.parametrize("name", NAMES)
def test_an_encoder_is_fp16_and_predicts_words_with_plain_transformers(name):
    weights = load_file(FOLDER / name / "model.safetensors")
    assert {part.dtype for part in weights.values()} == {torch.float16}
    guess = pipeline("fill-mask", str(FOLDER / name), dtype=torch.float32)
    assert len(guess.tokenizer) == guess.model.config.vocab_size
    asked = {"targets": ["playing", "1950", "and", "1960", "of", "1970"]}
    found = [row["token_str"] for row in guess("he was born in [MASK] .", **asked)]
    assert {*found[:3]} == {"1950", "1960", "1970"}
