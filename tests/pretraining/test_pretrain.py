"""Pre-training: what is masked, what is resumed, and that transformers loads it."""

import hashlib
import json
import multiprocessing
import random
import time
from collections import defaultdict
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from datasets import Dataset
from texts import articles, open_sentences
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from mocose_lib import Encoder, InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.data.corpora import load_corpus, tokenized
from mocose_study.pretraining import pretrain as p
from mocose_study.pretraining.pretrain import CLS, MASK, PAD, SEP, Batches

SIZES = dict(layers=1, hidden_size=16, attention_heads=2, vocab_size=400)
TEXT = dict(max_positions=40, length=16, tokens_per_batch=512, corpus_size=300)
SMALL = PretrainConfig("small", **SIZES, **TEXT, steps=6, warmup_steps=2, bf16=False)


@pytest.fixture
def text(study):
    """300 sentences in documents of ten."""
    return articles(study / "text.txt", 30, 10)


@pytest.fixture
def words(text):
    return p.train_tokenizer(text.read_text().split("\n"), SMALL.vocab_size)


@pytest.fixture
def documents(text, words):
    return tokenized(load_corpus(str(text), 300), words, None)


@pytest.fixture
def pretrained(documents, words, study):
    """Pre-trains in the folder of that name, which it returns."""

    def train(name, config=SMALL):
        p.pretrain(config, documents, words, study / name)
        return study / name

    return train


def made(folder):
    """What a pre-training has left: its record, and its weights as bytes."""
    record = json.loads((folder / "pretraining.json").read_text())
    return record, (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("units", [True, False])
def test_bf16_is_left_out_without_units_for_it(pretrained, monkeypatch, units):
    monkeypatch.setattr(p, "fast_in_bf16", lambda device: units)
    half, whole = (replace(SMALL, bf16=bf16, steps=2) for bf16 in (True, False))
    weights = [made(pretrained(name, c))[1] for name, c in (("h", half), ("w", whole))]
    assert (weights[0] != weights[1]) is units


DRAWN = [("contiguous", "36bfcb8fd78e27a4"), ("sentences", "377d09cec86e770b")]


@pytest.mark.parametrize("kind, drawn", DRAWN)
def test_the_numbers_drawn_are_those_of_the_committed_encoders(kind, drawn):
    """And they are functions of seed and number of the batch."""
    texts = [[5 + (7 * i + j) % 395 for j in range(3 + i % 30)] for i in range(300)]
    numbers = {"input_ids": texts, "document": [i // 10 for i in range(300)]}
    rows, table = [], Dataset.from_dict(numbers)
    for seed, number in ((0, 7), (0, 7), (1, 7), (0, 8)):
        batch = Batches(replace(SMALL, text=kind, seed=seed), table)[number]
        rows.append(b"".join(part.numpy().tobytes() for part in batch.values()))
    assert hashlib.sha256(rows[0]).hexdigest()[:16] == drawn
    assert rows[0] == rows[1] and len(set(rows)) == 3
    assert batch["input_ids"].shape == (512 // 16, 16)


def test_contiguous_rows_are_windows_of_the_text_with_sep_between_documents(documents):
    batches = Batches(replace(SMALL, text="contiguous"), documents)
    texts = defaultdict(list)
    for row in documents:
        texts[row["document"]] += row["input_ids"]
    first, *others = texts.values()
    stream = [*first, *chain(*([SEP, *text] for text in others))]
    assert batches.tokens.tolist() == stream and stream.count(SEP) == 29
    windows = {tuple(stream[i : i + 14]) for i in range(len(stream) - 13)}
    ids, _ = batches.text(0)
    assert (ids[:, 0] == CLS).all() and (ids[:, -1] == SEP).all()
    assert all(tuple(row[1:-1]) in windows for row in ids.tolist())


def test_rows_of_sentences_hold_one_sentence_each(documents):
    known = {tuple(ids[:14]) for ids in documents["input_ids"]}
    ids, _ = Batches(replace(SMALL, text="sentences"), documents).text(0)
    for row in ids.tolist():
        words = row[1 : row.index(SEP)]
        assert row[0] == CLS and tuple(words) in known
        assert set(row[len(words) + 2 :]) <= {PAD}


def test_what_is_masked_is_known(documents):
    """How it is masked is tested with `mask_tokens`."""
    batches = Batches(replace(SMALL, tokens_per_batch=32_000), documents)
    original, batch = batches.text(1)[0].flatten(), batches[1]
    seen, at = batch["input_ids"].flatten().numpy(), batch["places"].numpy()
    assert len(set(at)) == len(at) == int(0.15 * (original > MASK).sum())
    assert np.array_equal(original[at], batch["targets"].numpy())
    assert {*np.flatnonzero(seen != original)} <= {*at} and (original[at] > MASK).all()


def test_the_loss_is_that_of_the_whole_model(documents):
    training = p.Pretraining(replace(SMALL, text="sentences"), "cpu")
    batch, model = Batches(training.config, documents)[0], training.model.eval()
    attention = (batch["input_ids"] != PAD).long()
    logs = model(batch["input_ids"], attention_mask=attention).logits.log_softmax(-1)
    expected = -logs.flatten(0, 1)[batch["places"], batch["targets"]].mean()
    assert training.loss(batch).item() == pytest.approx(expected.item(), rel=1e-4)


def test_a_trial_on_the_way_changes_no_weight(pretrained, documents, words, study):
    """Of six steps, behind the third; the weights then are not those at the end."""
    seen = []

    def try_out(folder):
        seen.append((folder / "model.safetensors").read_bytes())
        return {"trained": 41.5}

    config = replace(SMALL, tried_at=(0.5,))
    p.pretrain(config, documents, words, study / "tried", try_out=try_out)
    record, weights = made(study / "tried")
    (point,) = record["tried"]
    assert point["trained"] == 41.5 and 0 < point["tokens"] < record["tokens"]
    assert len(seen) == 1 and seen[0] != weights == made(pretrained("plain"))[1]


def test_the_learning_rate_by_hand():
    training = p.Pretraining(replace(SMALL, steps=10, warmup_steps=4), "cpu")
    (factor,) = training.schedule.lr_lambdas
    assert [factor(step) for step in (0, 2, 4, 7, 10)] == [0.0, 0.5, 1.0, 0.5, 0.0]


def test_a_checkpoint_of_others_is_refused_a_damaged_one_dropped(pretrained, caplog):
    path = pretrained("one") / "state.pt"
    with pytest.raises(InputError, match="belongs to other settings"):
        pretrained("one", replace(SMALL, lr=0.1))
    path.write_bytes(path.read_bytes()[:-20])
    assert made(pretrained("one"))[0]["step"] == SMALL.steps
    assert "state.pt cannot be used, training starts anew" in caplog.text


def test_make_encoder_leaves_what_plain_transformers_loads(text, study):
    config = replace(SMALL, corpus=str(text), steps=2)
    folder = study / "encoder"
    p.make_encoder(config, folder)
    assert not (folder / "state.pt").exists()
    assert AutoModel.from_pretrained(folder).config.hidden_size == 16
    assert AutoModelForMaskedLM.from_pretrained(folder).config.vocab_size == 400
    (sentence,) = open_sentences(1)
    ids = AutoTokenizer.from_pretrained(folder)(sentence)["input_ids"]
    assert ids[0] == CLS and ids[-1] == SEP and len(ids) > 4
    assert Encoder.load(str(folder)).encode([sentence]).shape == (1, 16)
    with pytest.raises(InputError, match="there is an encoder in"):
        p.make_encoder(config, folder)


def test_ten_kills_change_no_weight(pretrained, study, eager, monkeypatch):
    """SIGKILL at random moments, between two of them at least one more start."""
    monkeypatch.setattr(p, "NOTE_EVERY", 7)
    config, begun = replace(SMALL, steps=60, dropout=0.1), time.monotonic()
    whole, weights = made(pretrained("whole", config))
    span, rng = time.monotonic() - begun, random.Random(0)
    fork, steps = multiprocessing.get_context("fork"), [0]
    for attempt in range(11):
        job = fork.Process(target=pretrained, args=("killed", config))
        job.start()
        job.join(rng.random() * span / 3 if attempt < 10 else None)
        job.kill()
        job.join()
        if state := Checkpoint(study / "killed" / "state.pt").read():
            steps.append(state["record"]["step"])
    assert job.exitcode == 0 and steps == sorted(steps) and len(set(steps)) > 3
    killed, found = made(study / "killed")
    assert found == weights and killed["curve"] == whole["curve"]
    assert len(whole["curve"]) == 9 and killed["tokens"] == whole["tokens"]
