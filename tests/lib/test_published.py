"""What is known of the authors' public code: ours lacks it, or has it behind a switch.

The presets set the switches; the README lists the differences.
"""

import math
import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from mocose_lib import Settings, fgsm
from mocose_lib.loss import info_nce
from mocose_lib.model import Branch
from mocose_lib.optimizer import TransformersAdamW
from mocose_lib.queue import RANDOM, NegativeQueue
from mocose_study.config import Config, configure
from mocose_study.config.profiles import PRESETS as ALL
from mocose_study.systems import base, fit, mocose

loop = sys.modules["mocose_lib.train"]
SWITCHES = {name for preset in ALL.values() for name in preset}
SWITCHES |= {"similarity", "target_dropout", "temperature"}  # of which none differs
USUAL = {name: getattr(Config, name) for name in SWITCHES}
PRESETS = {name: USUAL | ALL[name] for name in ("study", "described", "code")}
AS_DESCRIBED, AS_PUBLISHED = PRESETS["described"], PRESETS["code"]
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
# 5: the target follows after each step, and shares embeddings behind its switch,
# 6: the target's projection is trained behind its switch,
# 7: FGSM has the gradient of this batch, or behind its switch the last one's:
# test_whole_step has all of them, in the presets `study`, `described` and `code`
@pytest.mark.parametrize("detach", [True, False])
def test_the_key_gradient_reaches_shared_embeddings(go, monkeypatch, detach):
    """But only as published.

    Without a query gradient, what is left at the word embeddings is the keys'.
    """
    real = loop.info_nce

    def of_keys(query, *rest):
        return real(query.detach(), *rest) + 0 * query.sum()

    monkeypatch.setattr(loop, "info_nce", of_keys)
    trainer = go(shared_embeddings=True, detach_keys=detach, steps=1, choose=False)
    word = trainer.scored.model.get_input_embeddings().weight.grad
    assert (word.abs().max() == 0) == detach


STILL = dict(fgsm_epsilon=1e-3, dropout=0.0, head_dropout=0.0, steps=3, max_length=8)


def test_fgsm_takes_the_gradient_of_each_views_own_tokens(encoder, monkeypatch):
    """A crop or a rewriting gives the key other tokens than the query."""
    noise = recorded(monkeypatch, loop, "moved", [])
    trainer = loop.MoCoSE(Settings(batch_size=2, fgsm_epsilon=1e-3), encoder)
    loop.train_step(trainer, [[2, 9, 3], [2, 8, 3]], [[2, 9, 7, 3], [2, 3]], 1)
    assert [gradient.shape[1] for _, (_, gradient, _) in noise] == [3, 4]


def test_no_gradient_is_kept_outside_the_training(go):
    """The authors keep it in a global: a second run starts with the first one's."""
    first, second = (go(**STILL, fgsm_gradient="stale") for _ in range(2))
    assert first.progress.history == second.progress.history
    for module in (loop, fgsm):
        assert not [v for v in vars(module).values() if isinstance(v, torch.Tensor)]


# 8
def test_slices_begin_when_the_queue_is_full():
    """Table 8, slice 0 to 512: their third step has 768 negatives, the fourth 512."""
    queue = NegativeQueue(1024, 2, 128, torch.Generator().manual_seed(0), "published")
    used = []
    for step in range(1, 6):
        used.append(len(queue.negatives(((0, 512),))))
        queue.enqueue(torch.zeros(256, 2), step)
    assert used == [256, 512, 768, 512, 512]


# 9
def published_queue(size, init, batch, steps):
    """The authors' bookkeeping as lists: what each step's loss sees, "r" for random."""
    buffer, count, seen = ["r"] * size, init, []
    for step in range(1, steps + 1):
        seen.append(buffer[: count + init] if count + init < size else list(buffer))
        buffer = [step] * batch + (buffer if count else [])
        count += batch
        if count > size:
            buffer = buffer[:size]
    return seen


SIZES = [(12, 4, 4), (12, 0, 4), (12, 12, 4), (13, 3, 5), (512, 128, 64)]


@pytest.mark.parametrize(("size", "init", "batch"), SIZES)
def test_the_queue_grows_past_its_size_behind_its_switch_alone(size, init, batch):
    steps, most = 2 * (size // batch) + 3, {}
    seen = published_queue(size, init, batch, steps)
    for growth in ("exact", "published"):
        queue = NegativeQueue(size, 2, init, torch.Generator().manual_seed(0), growth)
        most[growth] = 0
        for step in range(1, steps + 1):
            born = queue.born[: len(queue.negatives())].tolist()
            most[growth] = max(most[growth], len(born))
            if growth == "published":
                assert ["r" if b == RANDOM else b for b in born] == seen[step - 1]
            else:
                assert len(born) == min(size, init + (step - 1) * batch)
                assert born.count(RANDOM) <= init
            queue.enqueue(torch.zeros(batch, 2), step)
    assert most["exact"] == size
    assert (most["published"] > size) == (0 < init < size)


# 10
@pytest.mark.parametrize("dropout", [True, False])
def test_target_dropout_is_active_unless_switched_off(encoder, view, dropout):
    trainer = loop.MoCoSE(Settings(target_dropout=dropout), encoder)
    assert torch.equal(trainer.target(view), trainer.target(view)) != dropout
    assert not torch.equal(trainer.online(view), trainer.online(view))
    assert AS_DESCRIBED["target_dropout"] and AS_PUBLISHED["target_dropout"]


# 11
def test_the_optimiser_of_transformers_4_by_hand():
    """Epsilon stands before the bias correction: it counts 31 times at first."""
    p = nn.Parameter(torch.tensor([1.0, 1.0]))
    p.grad = torch.tensor([1e-8, 0.5])
    TransformersAdamW([p], lr=0.1, weight_decay=0.01).step()
    small = 1e-8 / (1e-8 + 1e-8 / 0.001**0.5)
    expected = [(1 - 0.1 * x) * (1 - 0.1 * 0.01) for x in (small, 1.0)]
    assert p.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["adamw", "transformers_adamw"])
def test_one_rate_trains_all_and_biases_and_layer_norms_do_not_decay(encoder, kind):
    settings = Settings(weight_decay=0.1, lr=0.01, optimizer=kind)
    trainer = loop.MoCoSE(settings, encoder)
    assert isinstance(trainer.optimizer, TransformersAdamW) == (kind != "adamw")
    for group in trainer.optimizer.param_groups:
        assert {p.ndim > 1 for p in group["params"]} == {group["weight_decay"] > 0}
        assert group["lr"] == 0.01


# 12
@each_preset
def test_the_test_sets_choose_only_as_published(small, monkeypatch, preset):
    """Three evaluations choose; the last step also looks at the test sets."""
    calls = recorded(monkeypatch, base, "evaluate", [])
    fit(small(**PRESETS[preset]), bar=False)
    splits = [next(iter(tables)).rpartition(" ")[2] for _, (_, tables) in calls]
    assert splits == (["test"] * 4 if preset == "code" else ["dev"] * 3 + ["test"])


# 13: only the target's view is shortened behind its switch; see test_simcse
# 14
@each_preset
def test_scoring_has_no_noise_unless_published(small, encoder, preset):
    """Neither a shuffle nor a cutoff."""
    noisy = {"position_shuffle": True, "token_cutoff": 0.2, "feature_cutoff": 0.2}
    config = small(**{**PRESETS[preset], **noisy})
    texts = ["The baker sold bread.", "A dog ran over the hill."]
    first, again = (mocose.encode_as(config, encoder)(texts) for _ in range(2))
    assert (first == encoder.encode(texts)).all() == (preset != "code")
    assert (first == again).all()  # noisy, but the same noise


# 15
@each_preset
def test_the_pooler_is_linear_without_tanh(encoder, view, preset):
    config = configure("quick", preset, projection_layers=0, predictor_layers=0)
    cls = encoder(view.words, view.mask)
    expected = cls @ encoder.pooler.weight.T + encoder.pooler.bias
    torch.testing.assert_close(Branch(encoder, config).eval()(view), expected)
    assert expected.abs().max() > 1  # beyond what a tanh could give
    config = replace(config, pooler_activation="tanh")
    torch.testing.assert_close(Branch(encoder, config).eval()(view), expected.tanh())
