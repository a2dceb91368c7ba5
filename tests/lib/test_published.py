"""What is known of the authors' public code: ours lacks it, or has it behind a switch.

The presets set the switches; the README lists the differences.
"""

import math
import sys

import pytest
import torch
from conftest import of_the_method

from mocose_lib import Settings, fgsm
from mocose_lib.loss import info_nce
from mocose_lib.trainer import Trainer
from mocose_study.config import Config
from mocose_study.config.profiles import PRESETS as ALL

loop = sys.modules["mocose_lib.train"]
SWITCHES = {name for preset in ALL.values() for name in preset}
SWITCHES |= {"similarity", "target_dropout", "temperature"}  # of which none differs
USUAL = {name: getattr(Config, name) for name in SWITCHES}
PRESETS = {name: USUAL | ALL[name] for name in ("study", "described", "code")}
AS_DESCRIBED, AS_PUBLISHED = PRESETS["described"], PRESETS["code"]
EMBEDDINGS = "encoder.model.embeddings."
each_preset = pytest.mark.parametrize("preset", PRESETS)


def recorded(monkeypatch, place, name, calls):
    """Calls of a function are noted in `calls` as (name, arguments)."""
    real = getattr(place, name)

    def noting(*arguments, **options):
        calls.append((name, arguments))
        return real(*arguments, **options)

    monkeypatch.setattr(place, name, noting)
    return calls


# 1
def test_other_keys_of_the_batch_are_negatives_only_behind_their_switch():
    q, n = torch.eye(4), torch.zeros(3, 4)
    for others, negatives in ((False, 3), (True, 6)):
        by_hand = math.log(1 + negatives * math.exp(-1))
        loss = info_nce(q, q, n, 1.0, batch_negatives=others).item()
        assert loss == pytest.approx(by_hand, abs=1e-6)
    assert AS_PUBLISHED["batch_negatives"] and not AS_DESCRIBED["batch_negatives"]


# 2
def test_the_dot_product_is_behind_its_switch():
    """Equation 3 has one; "similar to MoCo" (section 3) is read as MoCo's cosine."""
    q, k, n = (torch.tensor([[x, 0.0]]) for x in (2.0, 3.0, 4.0))
    dot = -math.log(math.exp(6) / (math.exp(6) + math.exp(8)))
    assert info_nce(q, k, n, 1.0, "dot").item() == pytest.approx(dot, abs=1e-5)
    cosine = info_nce(q, k, n, 1.0, AS_PUBLISHED["similarity"]).item()
    assert cosine == pytest.approx(math.log(2), abs=1e-5)
    assert AS_DESCRIBED["similarity"] == "cosine"


# 3: a projection of two and more layers runs; see test_model
# 4: the cosine of the moving average turns back; see test_ema


# 5
def test_the_target_follows_after_each_step(go, monkeypatch):
    """Theirs follows before the forward pass: the same, with the next step's decay."""
    calls, order = [], ("contrast", "optimise", "update_ema")
    for name in order:
        place = Trainer if name == "optimise" else loop
        recorded(monkeypatch, place, name, calls)
    settings = go(steps=3).settings
    assert [name for name, _ in calls] == [*order] * 3
    decays = [arguments[2] for name, arguments in calls if name == "update_ema"]
    assert decays == [loop.decay_at(step, settings) for step in (2, 3, 4)]


@pytest.mark.parametrize("shared", [False, True])
def test_embeddings_have_a_target_copy_unless_the_switch_shares_them(go, shared):
    trainer = go(shared_embeddings=shared, choose=False)
    online = dict(trainer.online.named_parameters())
    for name, parameter in trainer.target.named_parameters():
        assert (parameter is online[name]) == (shared and name.startswith(EMBEDDINGS))
        if parameter is not online[name] and "word" not in name:
            assert not torch.equal(parameter, online[name])  # it lags behind


# 6
@each_preset
def test_keys_are_detached_unless_published(go, monkeypatch, preset):
    calls = recorded(monkeypatch, loop, "contrast", [])
    go(**{**of_the_method(PRESETS[preset]), "fgsm_epsilon": 0.0, "steps": 2})
    assert all(a[2][0].requires_grad == (preset == "code") for _, a in calls)
    assert not any(a[3].requires_grad for _, a in calls)  # the queue's never are


@each_preset
def test_the_targets_projection_is_in_the_optimiser_only_as_published(encoder, preset):
    trainer = loop.MoCoSE(Settings(**of_the_method(PRESETS[preset])), encoder)
    groups = trainer.optimizer.param_groups
    trained = {id(p) for group in groups for p in group["params"]}
    trained -= {id(p) for p in trainer.online.parameters()}
    projection = {id(p) for p in trainer.target.projection.parameters()}
    assert trained == (projection if preset == "code" else set())


# 7: of which batch FGSM's gradient is; see test_whole_step, too
STILL = dict(fgsm_epsilon=1e-3, dropout=0.0, head_dropout=0.0, steps=3, max_length=8)


def test_fgsm_takes_each_views_own_gradient_where_their_tokens_differ(
    encoder, monkeypatch
):
    """A crop or a rewriting gives the key other tokens than the query."""
    noise = recorded(monkeypatch, loop, "moved", [])
    trainer = loop.MoCoSE(Settings(batch_size=2, fgsm_epsilon=1e-3), encoder)
    loop.train_step(trainer, [[2, 9, 3], [2, 8, 3]], [[2, 9, 7, 3], [2, 3]], 1)
    assert [gradient.shape[1] for _, (_, gradient, _) in noise] == [3, 4]


def test_no_gradient_is_kept_outside_the_training(go):
    """The authors keep it in a global: a second run would start with the first one's."""
    first, second = (go(**STILL, fgsm_gradient="stale") for _ in range(2))
    assert first.progress.history == second.progress.history
    for module in (loop, fgsm):
        assert not [v for v in vars(module).values() if isinstance(v, torch.Tensor)]
