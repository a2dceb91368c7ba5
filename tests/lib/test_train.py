"""The loop: batches, rates and schedules by hand, what is chosen and measured."""

import sys
from contextlib import nullcontext
from dataclasses import asdict
from json import loads

import numpy as np
import pytest
import torch
from conftest import SMALL, made, of_the_method, same
from texts import open_sentences

from mocose_lib import Encoder, InputError, Settings, evaluate, optimizer, train
from mocose_lib.optimizer import learning_rate
from mocose_lib.trainer import batches
from mocose_study.config.profiles import PRESETS
from mocose_study.data import benchmarks
from mocose_study.systems import fit

loop = sys.modules["mocose_lib.train"]
NO_QUEUE = {"queue_size": 0, "queue_init": 0, "batch_negatives": True}


def test_the_library_and_a_run_give_the_same_bits(small):
    config = small(fast=False, selection="last", steps=4)
    torch.manual_seed(config.seed)
    encoder = Encoder.load(config.encoder, "cls", dropout=config.dropout, max_length=32)
    settings = Settings(**of_the_method(asdict(config)))
    progress = train(encoder, open_sentences(64), settings, bar=False)
    fitted = fit(config, bar=False)
    assert same(fitted.encoder.state_dict(), encoder.state_dict())
    losses = [[row["loss"] for row in p.history] for p in (progress, fitted.progress)]
    assert losses[0] == losses[1]
    average = evaluate(encoder.encode, benchmarks.test_tables("sample"))["average"]
    metrics = loads(made(config).read_text())["metrics"]
    assert metrics["sts_avg"] == round(average, 4)


# --- batches ---
def take(n, start=0, **changes):
    order = batches(range(100), Settings(**{"batch_size": 8, **changes}), start)
    return [next(order).tolist() for _ in range(n)]


def test_an_epoch_has_each_row_at_most_once_and_an_order_of_its_own():
    epochs = np.array(take(24)).reshape(2, 96)
    assert all(len(set(epoch)) == 96 for epoch in epochs.tolist())
    assert not np.array_equal(*epochs)
    for start in (5, 12, 30):  # a resumed run goes on where it stopped
        assert take(10, start) == take(start + 10)[start:]
    assert take(5) == take(5, temperature=0.1, lr=0.1) and take(5) != take(5, seed=1)
    with pytest.raises(InputError, match="batch_size = 101 is larger than the 100"):
        take(1, batch_size=101)


# --- rates ---
def test_warmup_and_linear_decay_by_hand():
    rates = [learning_rate(step, 100, 0) for step in (0, 25, 99, 100)]
    assert rates == [1.0, 0.75, pytest.approx(0.01), 0.0]
    rates = [learning_rate(step, 100, 4) for step in (0, 1, 3, 4, 52, 100)]
    assert rates == [0.25, 0.5, 1.0, 1.0, 0.5, 0.0]
    # a warm-up that is longer than the training is cut to it
    assert learning_rate(1, 4, 100) == learning_rate(1, 4, 4) == 0.5
    assert Settings(steps=10, warmup_steps=100).warmup_steps == 100


# --- what training does ---
def test_a_loss_that_is_no_number_ends_the_run(go, monkeypatch):
    monkeypatch.setattr(loop, "info_nce", lambda q, *rest: q.sum() * float("nan"))
    with pytest.raises(FloatingPointError, match="step 2"):
        go()


@pytest.mark.parametrize("choose", [True, False])
def test_the_weights_that_are_left_are_the_chosen_ones(encoder, choose):
    seen, scores = [], iter([10.0, 30.0, 20.0])

    def measure(step):
        seen.append({k: v.clone() for k, v in encoder.state_dict().items()})
        return {"score": next(scores)}

    options = dict(evaluate=measure, choose=choose, bar=False)
    told = {"a 'score'": {"mine": 1.0}, "numbers by name": 1.0, "'loss'": {"loss": 1}}
    for what, measured in told.items():
        without = options | {"evaluate": lambda step, x=measured: x, "choose": True}
        with pytest.raises(InputError, match=f"must return .*{what}"):
            train(encoder, open_sentences(64), Settings(**SMALL), **without)
    progress = train(encoder, open_sentences(64), Settings(**SMALL), **options)
    assert same(encoder.state_dict(), seen[1 if choose else 2])
    assert [row["step"] for row in progress.history] == [2, 4, 6]
    kept = (progress.best_step, progress.best_score)
    assert kept == ((4, 30.0) if choose else (0, None))


@pytest.mark.parametrize("error", [KeyboardInterrupt, FloatingPointError])
def test_a_training_that_ends_early_leaves_the_best_weights(encoder, error):
    kept = {}

    def measure(step):
        if step > 2:
            raise error
        kept.update({k: v.clone() for k, v in encoder.state_dict().items()})
        return {"score": np.float64(10)}

    with pytest.raises(error):
        train(encoder, open_sentences(64), Settings(**SMALL), evaluate=measure)
    assert same(encoder.state_dict(), kept) and not encoder.training


def test_it_is_said_that_no_score_chose_the_weights(encoder, caplog):
    options = dict(evaluate=lambda step: {"score": float("nan")}, bar=False)
    train(encoder, open_sentences(64), Settings(**SMALL), **options)
    assert "the last weights stay, none were chosen" in caplog.text


def test_what_cannot_be_trained_is_one_sentence(encoder):
    with pytest.raises(InputError, match="max_length = 200, but the encoder reads 75"):
        train(encoder, open_sentences(64), Settings(max_length=200))
    with pytest.raises(InputError, match="these are all the same"):
        train(encoder, ["one text"] * 99)
    with pytest.raises(InputError, match="a list of texts, not one text or a table"):
        train(encoder, {text: 1 for text in open_sentences(64)})
    encoder.pooler_trained = False
    with pytest.raises(InputError, match="larger than the 9 examples"):
        train(encoder, open_sentences(9))
    assert not encoder.pooler_trained and not encoder.training
    with pytest.raises(InputError, match="call encoder"):
        train(encoder.half(), open_sentences(64))
    with pytest.raises(InputError, match="all weights are frozen"):
        encoder.model.requires_grad_(False)
        train(encoder.float(), open_sentences(64))


@pytest.mark.parametrize("gradient", ["current", "stale"])
def test_the_embedding_layer_may_be_frozen(encoder, gradient):
    encoder.model.embeddings.requires_grad_(False)
    settings = Settings(**SMALL | {"fgsm_gradient": gradient, "fgsm_epsilon": 1e-3})
    assert train(encoder, open_sentences(64), settings, bar=False).step == 6


def test_evaluation_does_not_change_training(go):
    """The same weights at the end, however often one looks."""
    often = go(eval_every=1, probe_every=1, choose=False)
    once = go(eval_every=6, choose=False)
    assert same(often.scored.state_dict(), once.scored.state_dict())


def test_what_evaluate_does_to_mode_and_random_numbers_is_undone(tiny):
    def trained(look) -> dict:
        def measure(step):
            look(encoder)
            return {"score": step}

        encoder, settings = Encoder.load(tiny), Settings(**SMALL | {"eval_every": 1})
        train(encoder, open_sentences(64), settings, evaluate=measure, bar=False)
        return encoder.state_dict()

    usual, *others = map(trained, (id, Encoder.eval, lambda _: Encoder.load(tiny)))
    assert all(same(usual, other) for other in others)


def test_the_trajectory_has_what_each_probe_gave(go):
    progress = go(probe_every=2, eval_every=3).progress
    assert [row["step"] for row in progress.trajectory] == [0, 2, 4, 6]
    last = progress.history[-1]
    assert progress.trajectory[-1] == {k: last[k] for k in ("step", "uniformity")}
    assert go().progress.trajectory == []


VARIANTS = {
    "study": {},
    "described": of_the_method(PRESETS["described"]),
    "code": of_the_method(PRESETS["code"]),
    "latest keys": {"queue_keys": "latest", "negatives_slice": ((0, 4), (8, 12))},
    "augmented": {"position_shuffle": True, "token_cutoff": 0.2, "feature_cutoff": 0.2},
    "bf16, warm-up": {"precision": "bf16", "probe_every": 2, "warmup_steps": 3},
    "no heads, no queue": NO_QUEUE | {"projection_layers": 0, "predictor_layers": 0},
}


# --- devices ---
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_step_happens_on_the_encoders_device(encoder, monkeypatch, variant):
    """The device "meta" computes nothing, but refuses what lies elsewhere."""
    plain = torch.optim.AdamW  # no fused optimiser knows "meta"
    monkeypatch.setattr(optimizer, "AdamW", lambda groups, lr, fused: plain(groups))
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda _: True)  # no value is known
    settings = Settings(**of_the_method(SMALL | VARIANTS[variant]))
    training = loop.MoCoSE(settings, encoder.to("meta"))
    views = [[1, 2, 3]] * SMALL["batch_size"], [[1, 3, 2]] * SMALL["batch_size"]
    for step in (1, 2):
        loop.train_step(training, *views, step)
    tensors = (*training.trained, training.queue.keys)
    assert {t.device.type for t in tensors} == {"meta"}
