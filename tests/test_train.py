"""The loop: rates and schedules by hand, and runs that are killed at every step."""

import pytest
import torch
from conftest import assert_same, same

from mocose_study.data import files
from mocose_lib import learner
from mocose_lib import train as loop
from mocose_study.config import Config, InputError
from mocose_lib.learner import lr_factor
from mocose_study.systems.base import load_encoder, training_ids
from mocose_study.config.profiles import AS_DESCRIBED, AS_PUBLISHED
from mocose_lib.train import Training


class Killed(BaseException):
    """What a kill looks like from inside."""


@pytest.fixture
def go(monkeypatch):
    """go(config, checkpoint) trains and returns the whole Training, target and queue too."""
    made = []

    class Seen(Training):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(loop, "Training", Seen)

    def go(config: Config, checkpoint=None) -> Training:
        torch.manual_seed(config.seed)
        encoder = load_encoder(config, "cpu")
        loop.train(config, encoder, training_ids(config, encoder), checkpoint, bar=False)
        return made[-1]

    return go


# --- rates ---
def test_linear_decay_by_hand():
    config = Config(steps=100)
    assert [lr_factor(s, config) for s in (0, 25, 99, 100)] == [1.0, 0.75, pytest.approx(0.01), 0.0]


def test_warmup_and_freezing_by_hand():
    config = Config(steps=100, warmup_steps=4, freeze_steps=10)
    assert [lr_factor(s, config) for s in (0, 1, 3, 4)] == [0.25, 0.5, 0.97, 0.96]


def test_encoder_and_heads_have_their_own_rates(encoder):
    config = Config(lr=1e-5, head_lr=1e-3)
    t = Training(config, encoder)
    online, (body, heads) = t.online, t.optimizer.param_groups
    assert body["lr"] == 1e-5 and heads["lr"] == 1e-3
    own = {id(p) for p in body["params"]}
    assert own == {id(p) for p in encoder.model.parameters()}
    fresh = (encoder.pooler, online.projection, online.predictor)
    assert {id(p) for p in heads["params"]} == {id(p) for m in fresh for p in m.parameters()}


def test_a_frozen_encoder_does_not_move_and_heads_do(small, go):
    t = go(small(freeze_steps=6, selection="last"))
    before = load_encoder(t.config, "cpu")
    assert same(before.model.state_dict(), t.scored.model.state_dict())
    assert not torch.equal(before.pooler.weight, t.scored.pooler.weight)


def test_gradients_are_clipped(small, go, monkeypatch):
    norms = []
    real = torch.optim.AdamW.step

    def step(self, *a, **k):
        flat = [p.grad.flatten() for g in self.param_groups for p in g["params"] if p.grad is not None]
        norms.append(torch.cat(flat).norm().item())
        return real(self, *a, **k)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    go(small(max_grad_norm=0.01))
    assert len(norms) == 6 and max(norms) == pytest.approx(0.01, rel=1e-3)


# --- what training does ---
def test_the_loss_falls(small, go):
    history = go(small(steps=40, eval_every=10, corpus_size=8, batch_size=8, dropout=0.0, head_dropout=0.0)).progress.history
    assert history[-1]["loss"] < 0.7 * history[0]["loss"]


def test_a_loss_that_is_no_number_ends_the_run(small, go, monkeypatch):
    monkeypatch.setattr(loop, "info_nce", lambda q, *rest: q.sum() * float("nan"))
    with pytest.raises(FloatingPointError, match="step 2"):
        go(small())


def test_the_queue_holds_the_keys_of_the_last_steps(small, go):
    t = go(small())
    assert t.queue.ages(6).tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize("selection", ["dev", "test", "last"])
def test_the_checkpoint_that_is_left_is_the_chosen_one(small, go, monkeypatch, selection):
    scores = iter([10.0, 30.0, 20.0])
    seen = []
    monkeypatch.setattr(learner.sts, f"{'test' if selection == 'test' else 'dev'}_score", lambda *a: next(scores))
    real = learner.examine

    def examine(t):
        real(t)
        seen.append({k: v.clone() for k, v in t.scored.state_dict().items()})

    monkeypatch.setattr(learner, "examine", examine)
    t = go(small(selection=selection))
    assert same(t.scored.state_dict(), seen[2 if selection == "last" else 1])
    assert [row["step"] for row in t.progress.history] == [2, 4, 6]
    if selection != "last":
        assert t.progress.best_step == 4 and t.progress.best_score == 30.0


@pytest.mark.parametrize("same_seed", [True, False])
def test_a_run_is_a_function_of_its_config(small, go, same_seed):
    a, b = go(small(seed=1)), go(small(seed=1 if same_seed else 2))
    assert same(a.scored.state_dict(), b.scored.state_dict()) == same_seed
    assert (a.progress.history == b.progress.history) == same_seed


def test_evaluation_does_not_change_training(small, go):
    """The same weights at the end, however often one looks."""
    often = go(small(eval_every=1, probe_every=1, selection="last"))
    once = go(small(eval_every=6, selection="last"))
    assert same(often.scored.state_dict(), once.scored.state_dict())


def test_the_trajectory_has_the_geometry_of_every_probed_step(small, go):
    t = go(small(probe_every=2, eval_every=3))
    assert [row["step"] for row in t.progress.trajectory] == [0, 2, 4, 6]
    last = {k: v for k, v in t.progress.history[-1].items() if k not in ("loss", "score")}
    assert t.progress.trajectory[-1] == last and "uniformity" in last
    assert go(small()).progress.trajectory == []


VARIANTS = {
    "study": {},
    "as_described": AS_DESCRIBED,
    "as_published": AS_PUBLISHED,
    "latest keys": dict(queue_keys="latest", negatives_slice=((0, 4), (8, 12))),
    "augmented": dict(position_shuffle=True, token_cutoff=0.2, feature_cutoff=0.2, augment_at_evaluation=True),
    "bf16": dict(precision="bf16", batch_lengths="equal", corpus_size=200),
    "no target dropout": dict(target_dropout=False, shared_embeddings=True, batch_negatives=True),
    "no heads, no queue": dict(projection_layers=0, predictor_layers=0, queue_size=0, queue_init=0, batch_negatives=True),
    "identity heads": dict(head_init="identity", probe_every=2, heads="plain"),
    "frozen first": dict(freeze_steps=2, warmup_steps=3, selection="last", pooling="first_last"),
}  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_trains(small, go, variant):
    t = go(small(**VARIANTS[variant]))
    assert all(abs(row["loss"]) < 100 for row in t.progress.history) and len(t.progress.history) == 3


def kill_at(monkeypatch, where, call):
    """The call-th call of a function of the loop (or write of a checkpoint) does not return."""
    place, name = {"step": (loop, "optimise"), "enqueue": (loop, "remember"), "save": (torch, "save")}[where]
    real, count = getattr(place, name), iter(range(1, 1_000))

    def stopping(*arguments, **more):
        if next(count) == call:
            if where == "save":
                arguments[1].write_bytes(b"half a check")
            raise Killed
        return real(*arguments, **more)

    monkeypatch.setattr(place, name, stopping)


KILLS = [(v, "save") for v in VARIANTS]
KILLS += [(v, where) for v in ("study", "as_published", "latest keys") for where in ("step", "enqueue")]


@pytest.mark.parametrize(("variant", "where"), KILLS)
def test_a_run_killed_at_every_step_ends_like_the_unbroken_one(small, go, monkeypatch, tmp_path, variant, where):
    """Killed once in each of its steps, each time gone on from the checkpoint of the step before."""
    config = small(**VARIANTS[variant])
    unbroken = go(config)
    monkeypatch.setattr(learner, "SAVE_SECONDS", -1)
    checkpoint = tmp_path / "run.pt"
    for _ in range(config.steps - 1):  # a step is done and saved, in the next one it is killed
        with monkeypatch.context() as once:
            kill_at(once, where, call=2)
            with pytest.raises(Killed):
                go(config, checkpoint)
    assert torch.load(checkpoint, weights_only=False)["progress"].step == config.steps - 1
    resumed = go(config, checkpoint)
    assert_same(resumed, unbroken)


@pytest.mark.parametrize("step", [4, 5, 6])
@pytest.mark.parametrize("variant", ["as_described", "as_published", "latest keys"])
def test_steps_after_the_last_checkpoint_are_done_again(small, go, monkeypatch, tmp_path, variant, step):
    """A checkpoint of step 3 is all that is left of a run killed at a later step."""
    config = small(**VARIANTS[variant])
    unbroken = go(config)
    monkeypatch.setattr(learner, "SAVE_SECONDS", -1)
    with monkeypatch.context() as once:
        saves = iter(range(1, 1_000))
        real = files.write_atomically
        once.setattr(learner, "write_atomically", lambda *a: real(*a) if next(saves) == 3 else None)
        kill_at(once, "step", step)
        with pytest.raises(Killed):
            go(config, tmp_path / "run.pt")
    assert_same(go(config, tmp_path / "run.pt"), unbroken)


def test_a_checkpoint_of_another_config_is_refused(small, go, monkeypatch, tmp_path):
    monkeypatch.setattr(learner, "SAVE_SECONDS", -1)
    go(small(), tmp_path / "run.pt")
    with pytest.raises(InputError, match="another Config"):
        go(small(seed=1), tmp_path / "run.pt")
