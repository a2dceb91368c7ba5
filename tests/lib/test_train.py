"""The loop: rates and schedules by hand, and trainings that are killed at every step."""

import sys
from contextlib import nullcontext
from dataclasses import asdict
from json import loads

import pytest
import torch
from conftest import SMALL, assert_same, made, of_the_method, same
from texts import open_sentences

from mocose_lib import Encoder, InputError, Settings, evaluate, optimizer, train
from mocose_lib.queue import NegativeQueue
from mocose_lib.trainer import Trainer, learning_rate
from mocose_study.config.profiles import PRESETS
from mocose_study.data import atomic, benchmarks
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.systems import mocose

loop = sys.modules["mocose_lib.train"]


class Killed(BaseException):
    """What a kill looks like from inside."""


def test_the_library_and_a_run_give_the_same_bits(small):
    config = small(fast=False, selection="last", steps=4)
    torch.manual_seed(config.seed)
    encoder = Encoder.load(config.encoder, "cls", dropout=config.dropout, max_length=32)
    settings = Settings(**of_the_method(asdict(config)))
    progress = train(encoder, open_sentences(64), settings, bar=False)
    fitted = mocose.fit(config, bar=False)
    assert same(fitted.encoder.state_dict(), encoder.state_dict())
    losses = [[row["loss"] for row in p.history] for p in (progress, fitted.progress)]
    assert losses[0] == losses[1] and progress.staleness == fitted.progress.staleness
    found = evaluate(encoder.encode, benchmarks.test_tables("sample"))
    metrics = loads(made(config).read_text())["metrics"]
    assert metrics["sts_avg"] == round(found["average"], 4)


# --- rates ---
def test_warmup_and_linear_decay_by_hand():
    found = [learning_rate(step, 100, 0) for step in (0, 25, 99, 100)]
    assert found == [1.0, 0.75, pytest.approx(0.01), 0.0]
    assert [learning_rate(step, 100, 4) for step in (0, 1, 3, 4)] == [
        0.25,
        0.5,
        0.97,
        0.96,
    ]


def test_encoder_and_heads_have_their_own_rates(encoder):
    trainer = loop.MoCoSE(Settings(lr=1e-5, head_lr=1e-3), encoder)
    found = {1e-5: set(), 1e-3: set()}
    for group in trainer.optimizer.param_groups:
        found[group["lr"]] |= {id(p) for p in group["params"]}
    fresh = (encoder.pooler, trainer.online.projection, trainer.online.predictor)
    assert found[1e-5] == {id(p) for p in encoder.model.parameters()}
    assert found[1e-3] == {id(p) for m in fresh for p in m.parameters()}


@pytest.mark.parametrize("published", [False, True])
def test_the_gradients_of_all_that_is_trained_are_clipped_together(
    go, monkeypatch, published
):
    """As published, that includes the target's projection."""
    norms = []
    real = torch.optim.AdamW.step

    def step(self, *arguments, **options):
        parameters = [p for group in self.param_groups for p in group["params"]]
        flat = [p.grad.flatten() for p in parameters if p.grad is not None]
        norms.append(torch.cat(flat).norm().item())
        return real(self, *arguments, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    target = {
        "target_projection_trained": True,
        "detach_keys": False,
        "shared_embeddings": True,
    }
    go(max_grad_norm=0.01, **(target if published else {}))
    assert len(norms) == 6 and max(norms) == pytest.approx(0.01, rel=1e-3)


# --- what training does ---
def test_the_loss_falls(go):
    """Without a queue, whose entries are older keys of the very same eight sentences."""
    whole = {"steps": 40, "eval_every": 10, "sentences": 8, "batch_size": 8}
    negatives = {"queue_size": 0, "queue_init": 0, "batch_negatives": True}
    history = go(dropout=0.0, head_dropout=0.0, **whole, **negatives).progress.history
    assert history[-1]["loss"] < 0.7 * history[0]["loss"]


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

    settings = Settings(**SMALL)
    text = open_sentences(64)
    progress = train(
        encoder, text, settings, evaluate=measure, choose=choose, bar=False
    )
    assert same(encoder.state_dict(), seen[1 if choose else 2])
    assert [row["step"] for row in progress.history] == [2, 4, 6]
    chosen = (progress.best_step, progress.best_score)
    assert chosen == ((4, 30.0) if choose else (0, None))


def test_weights_cannot_be_chosen_without_a_score(encoder):
    settings, options = (
        Settings(**SMALL),
        {"evaluate": lambda step: {"mine": 1.0}, "bar": False},
    )
    with pytest.raises(InputError, match="evaluate must return a 'score' to choose by"):
        train(encoder, open_sentences(64), settings, **options)
    progress = train(encoder, open_sentences(64), settings, choose=False, **options)
    assert progress.history[-1]["mine"] == 1.0


@pytest.mark.parametrize("same_seed", [True, False])
def test_a_training_is_a_function_of_its_settings(go, same_seed):
    a, b = go(seed=1), go(seed=1 if same_seed else 2)
    assert same(a.scored.state_dict(), b.scored.state_dict()) == same_seed
    assert (a.progress.history == b.progress.history) == same_seed


def test_the_seed_draws_a_pooler_that_no_checkpoint_brought(tiny, tmp_path):
    Encoder.load(tiny).save(tmp_path)  # which leaves the pooler out
    settings = Settings(steps=2, batch_size=8, queue_size=16, queue_init=4)
    found = []
    for _ in range(2):
        encoder = Encoder.load(tmp_path)
        train(encoder, open_sentences(64), settings, bar=False)
        found.append(encoder.state_dict())
    assert same(*found)


def test_more_tokens_than_the_encoder_reads_are_refused(tiny):
    with pytest.raises(InputError, match="max_length = 200, but the encoder reads 75"):
        train(Encoder.load(tiny), open_sentences(64), Settings(max_length=200))


def test_evaluation_does_not_change_training(go):
    """The same weights at the end, however often one looks."""
    often = go(eval_every=1, probe_every=1, choose=False)
    once = go(eval_every=6, choose=False)
    assert same(often.scored.state_dict(), once.scored.state_dict())


def test_the_trajectory_has_what_every_probe_gave(go):
    trainer = go(probe_every=2, eval_every=3)
    assert [row["step"] for row in trainer.progress.trajectory] == [0, 2, 4, 6]
    last = {
        k: v
        for k, v in trainer.progress.history[-1].items()
        if k not in ("loss", "score")
    }
    assert trainer.progress.trajectory[-1] == last and "uniformity" in last
    assert go().progress.trajectory == []


def test_staleness_is_measured_at_three_quarters(go):
    trainer = go(steps=8)
    assert trainer.queue.ages(8).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    found = trainer.progress.staleness
    assert [row["step"] for row in found] == [2, 4, 6]
    assert found[-1]["age"] == [0, 1, 2] and found[-1]["n"] == [4, 4, 4]
    assert go(queue_size=0, queue_init=0, batch_negatives=True).progress.staleness == []


VARIANTS = {
    "study": {},
    "described": of_the_method(PRESETS["described"]),
    "code": of_the_method(PRESETS["code"]),
    "latest keys": {"queue_keys": "latest", "negatives_slice": ((0, 4), (8, 12))},
    "augmented": {"position_shuffle": True, "token_cutoff": 0.2, "feature_cutoff": 0.2},
    "bf16": {"precision": "bf16", "batch_lengths": "equal", "sentences": 200},
    "no heads, no queue": {
        "projection_layers": 0,
        "predictor_layers": 0,
        "queue_size": 0,
        "queue_init": 0,
        "batch_negatives": True,
    },
    "identity heads, warm-up": {
        "head_init": "identity",
        "probe_every": 2,
        "warmup_steps": 3,
    },
}


# --- devices ---
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_of_a_step_happens_on_the_device_of_the_encoder(
    encoder, monkeypatch, variant
):
    """The device "meta" computes nothing, but as a GPU does it refuses what lies elsewhere."""
    plain = torch.optim.AdamW  # no fused optimiser knows "meta"
    monkeypatch.setattr(optimizer, "AdamW", lambda groups, lr, fused: plain(groups))
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda _: True)  # no value is known
    trainer = loop.MoCoSE(
        Settings(**of_the_method(SMALL | VARIANTS[variant])), encoder.to("meta")
    )
    views = [[1, 2, 3]] * SMALL["batch_size"], [[1, 3, 2]] * SMALL["batch_size"]
    for step in (1, 2):
        loop.train_step(trainer, *views, step)
    assert {t.device.type for t in (*trainer.trained, trainer.queue.keys)} == {"meta"}


def kill_at(monkeypatch, where, call):
    """The call-th call of a function of the loop does not return."""
    places = {
        "step": (Trainer, "optimise"),
        "enqueue": (NegativeQueue, "enqueue"),
        "save": (atomic.os, "replace"),
    }
    place, name = places[where]
    real, count = getattr(place, name), iter(range(1, 1_000))

    def stopping(*arguments, **more):
        if next(count) == call:
            raise Killed
        return real(*arguments, **more)

    monkeypatch.setattr(place, name, stopping)


KILLS = [(variant, "save") for variant in VARIANTS]
KILLS += [(v, where) for v in ("code", "latest keys") for where in ("step", "enqueue")]


@pytest.mark.parametrize(("variant", "where"), KILLS)
def test_a_training_killed_at_every_step_ends_like_the_unbroken_one(
    go, eager, monkeypatch, tmp_path, variant, where
):
    """It is killed once in each of its steps and goes on from the checkpoint of the step before."""
    unbroken = go(**VARIANTS[variant])
    assert all(abs(row["loss"]) < 100 for row in unbroken.progress.history)
    checkpoint = Checkpoint(tmp_path / "run.pt")
    for _ in range(
        SMALL["steps"] - 1
    ):  # a step is done and saved, in the next one it is killed
        with monkeypatch.context() as once:
            kill_at(once, where, call=2)
            with pytest.raises(Killed):
                go(**VARIANTS[variant], checkpoint=checkpoint)
    assert checkpoint.read()["progress"]["step"] == SMALL["steps"] - 1
    assert_same(go(**VARIANTS[variant], checkpoint=checkpoint), unbroken)


@pytest.mark.parametrize("step", [4, 6])
def test_steps_after_the_last_checkpoint_are_done_again(
    go, eager, monkeypatch, tmp_path, step
):
    """A checkpoint of step 3 is all that is left of a training killed at a later step."""
    variant = VARIANTS["code"]
    unbroken = go(**variant)
    with monkeypatch.context() as once:
        due = iter(step == 3 for step in range(1, 1_000))
        once.setattr(Checkpoint, "due", lambda _: next(due))
        kill_at(once, "step", step)
        with pytest.raises(Killed):
            go(**variant, checkpoint=Checkpoint(tmp_path / "run.pt"))
    assert_same(go(**variant, checkpoint=Checkpoint(tmp_path / "run.pt")), unbroken)


def test_a_checkpoint_of_other_settings_is_refused(go, eager, tmp_path):
    go(checkpoint=Checkpoint(tmp_path / "run.pt"))
    with pytest.raises(InputError, match="belongs to other settings"):
        go(seed=1, checkpoint=Checkpoint(tmp_path / "run.pt"))
