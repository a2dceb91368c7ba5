"""What is known of the authors' public code: ours does not have it, or has it behind a switch only.

One test a row of the table in the README ("How ours differs from the authors' code"); the presets
AS_DESCRIBED and AS_PUBLISHED set the switches.
"""

import inspect
import math

import pytest
import torch
from torch import nn

from mocose_lib import augment
from mocose_lib import train as loop
from mocose_lib.ema import decay_at
from mocose_lib.encoder import Encoder
from mocose_lib.loss import info_nce
from mocose_lib.model import Branch, View, projection
from mocose_lib.queue import RANDOM, NegativeQueue
from mocose_lib.train import Training, encode_as
from mocose_study.config import Config, InputError
from mocose_study.config.profiles import AS_DESCRIBED, AS_PUBLISHED, configure
from mocose_study.data import corpora as data
from mocose_study.systems.base import load_encoder, training_ids

PRESETS = {"study": {}, "as_described": AS_DESCRIBED, "as_published": AS_PUBLISHED}
EMBEDDINGS = "encoder.model.embeddings."


@pytest.fixture
def trained(monkeypatch):
    """trained(config, steps=n): a Training after n steps of the real loop."""
    made = []
    real = Training.__init__
    monkeypatch.setattr(
        Training, "__init__", lambda self, *a: (real(self, *a), made.append(self))[0]
    )

    def go(config):
        encoder = load_encoder(config, "cpu")
        loop.train(config, encoder, training_ids(config, encoder), bar=False)
        return made[-1]

    return go


@pytest.fixture
def view(encoder):
    ids, mask = encoder.pad(encoder.tokenize(["The baker sold bread.", "A dog ran."]))
    return View(encoder.words(ids), mask)


def recorded(monkeypatch, name, calls):
    """Calls of a function of the loop are noted in `calls` as (name, arguments)."""
    real = getattr(loop, name)
    monkeypatch.setattr(loop, name, lambda *a, **k: (calls.append((name, a)), real(*a, **k))[1])


# 1
def test_other_keys_of_the_batch_are_negatives_only_behind_their_switch():
    q, k = torch.eye(4), torch.eye(4)
    n = torch.zeros(3, 4)
    queue_only = math.log(1 + 3 * math.exp(-1))
    with_batch = math.log(1 + (3 + 3) * math.exp(-1))
    assert info_nce(q, k, n, 1.0).item() == pytest.approx(queue_only, abs=1e-6)
    assert info_nce(q, k, n, 1.0, batch_negatives=True).item() == pytest.approx(
        with_batch, abs=1e-6
    )
    assert (
        AS_PUBLISHED["batch_negatives"]
        and not AS_DESCRIBED["batch_negatives"]
        and not Config().batch_negatives
    )


# 2
def test_similarity_is_the_dot_product_as_described_and_the_cosine_as_published():
    q, k, n = torch.tensor([[2.0, 0.0]]), torch.tensor([[3.0, 0.0]]), torch.tensor([[4.0, 0.0]])
    dot = -math.log(math.exp(6) / (math.exp(6) + math.exp(8)))
    assert info_nce(q, k, n, 1.0, AS_DESCRIBED["similarity"]).item() == pytest.approx(dot, abs=1e-5)
    assert info_nce(q, k, n, 1.0, AS_PUBLISHED["similarity"]).item() == pytest.approx(
        math.log(2), abs=1e-5
    )


# 3
@pytest.mark.parametrize("layers", range(4))
def test_a_projection_of_two_and_more_layers_runs(layers):
    head = projection(layers, 16, 16, "published", 0.1)
    assert head(torch.randn(3, 16)).shape == (3, 16)
    assert sum(isinstance(m, nn.Linear) for m in head) == layers


# 4
def test_the_ema_cosine_does_not_turn_back_after_its_horizon():
    config = configure("base", "as_published")
    assert config.steps > config.ema_horizon == 15_000 and config.ema_decay_end == 1.0
    decays = [decay_at(step, config) for step in range(1, 31_000, 100)]
    assert decays == sorted(decays) and decay_at(30_000, config) == 1.0
    theirs = 1 - (1 - 0.75) * (math.cos(math.pi * 30_000 / 15_000) + 1) / 2
    assert theirs == 0.75  # what the formula alone would give


def test_the_ema_horizon_is_no_constant_of_the_code():
    config = Config(ema_schedule="cosine", ema_decay=0.75, ema_decay_end=0.95, steps=40)
    assert decay_at(40, config) == 0.95 and decay_at(20, config) == pytest.approx(0.85)


# 5
@pytest.mark.parametrize("moment", ["after_step", "before_forward"])
def test_the_target_is_updated_after_the_step_or_before_the_forward_pass(
    small, trained, monkeypatch, moment
):
    calls = []
    for name in ("update_ema", "contrast", "optimise"):
        recorded(monkeypatch, name, calls)
    trained(small(ema_moment=moment, steps=3))
    order = ["contrast", "optimise", "update_ema"]
    order = order if moment == "after_step" else order[-1:] + order[:-1]
    assert [name for name, _ in calls] == order * 3


@pytest.mark.parametrize("shared", [False, True])
def test_embeddings_have_a_target_copy_unless_the_switch_shares_them(small, trained, shared):
    t = trained(small(shared_embeddings=shared, selection="last"))
    online = dict(t.online.named_parameters())
    for name, parameter in t.target.named_parameters():
        assert (parameter is online[name]) == (shared and name.startswith(EMBEDDINGS))
        if parameter is not online[name] and "word" not in name:
            assert not torch.equal(parameter, online[name])  # it lags behind


# 6
@pytest.mark.parametrize("preset", PRESETS)
def test_keys_are_detached_unless_published(small, monkeypatch, trained, preset):
    calls = []
    recorded(monkeypatch, "contrast", calls)
    trained(small(**{**PRESETS[preset], "fgsm_epsilon": 0.0}, steps=2))
    assert all(a[1].requires_grad == (preset == "as_published") for _, a in calls)
    assert not any(a[2].requires_grad for _, a in calls)  # the queue's never are


def test_the_key_gradient_reaches_the_shared_embeddings_only_as_published(
    small, trained, monkeypatch
):
    """Without a query gradient, what is left at the word embeddings comes through the keys."""
    found = {}
    for detach in (True, False):
        config = small(shared_embeddings=True, detach_keys=detach, steps=1, selection="last")
        with monkeypatch.context() as once:
            real = loop.info_nce
            once.setattr(
                loop, "info_nce", lambda q, *rest, real=real: real(q.detach(), *rest) + 0 * q.sum()
            )
            t = trained(config)
        word = t.scored.model.get_input_embeddings().weight.grad
        found[detach] = word.abs().max().item()
        assert all(
            p.grad is None for n, p in t.target.named_parameters() if not n.startswith(EMBEDDINGS)
        )
    assert found[True] == 0 and found[False] > 0


@pytest.mark.parametrize("preset", PRESETS)
def test_the_targets_projection_is_in_the_optimiser_only_as_published(encoder, preset):
    config = configure("quick", preset)
    t = Training(config, encoder)
    online, target = t.online, t.target
    trained = {id(p) for g in t.optimizer.param_groups for p in g["params"]}
    own = [p for p in target.parameters() if not any(p is q for q in online.parameters())]
    inside = [p for p in own if id(p) in trained]
    expected = list(target.projection.parameters()) if preset == "as_published" else []
    assert {id(p) for p in inside} == {id(p) for p in expected}


# 7
def noise(monkeypatch):
    """The gradients FGSM is given, one a step (the online view's)."""
    found = []
    real = augment.fgsm

    def fgsm(words, gradient, epsilon):
        found.append((words.detach().clone(), gradient))
        return real(words, gradient, epsilon)

    monkeypatch.setattr(augment, "fgsm", fgsm)
    return found


STILL = dict(fgsm_epsilon=1e-3, dropout=0.0, head_dropout=0.0, steps=3, corpus_size=4, max_length=8)


def test_fgsm_uses_the_gradient_of_this_input(small, trained, monkeypatch):
    """Without dropout the gradient is that of the very loss that the batch has unperturbed."""
    found, expected = noise(monkeypatch), []
    real = loop.perturb

    def perturb(t, views, ids, mask, negatives):
        words = t.scored.words(ids).detach().requires_grad_()
        keys = t.target(View(t.target.encoder.words(ids), mask)).detach()
        loss = loop.contrast(t.online(View(words, mask)), keys, negatives, t.config)
        expected.append(torch.autograd.grad(loss, words)[0])
        real(t, views, ids, mask, negatives)

    monkeypatch.setattr(loop, "perturb", perturb)
    trained(small(**STILL))
    assert len(found) == 6 and len(expected) == 3  # both views, three steps
    for step in range(3):
        for _, gradient in found[2 * step : 2 * step + 2]:
            torch.testing.assert_close(gradient, expected[step])


def test_fgsm_uses_the_last_steps_gradient_only_behind_its_switch(small, trained, monkeypatch):
    found, left = noise(monkeypatch), []
    real = loop.optimise
    monkeypatch.setattr(
        loop, "optimise", lambda t, loss: (real(t, loss), left.append(t.stale_gradient))[0]
    )
    trained(small(**STILL, fgsm_gradient="stale"))
    gradients = [gradient for _, gradient in found[::2]]
    assert gradients[0] is None
    for step in (1, 2):
        assert torch.equal(gradients[step], augment.fit(left[step - 1], gradients[step].shape))
        assert left[step - 1].abs().sum() > 0


def test_no_gradient_is_kept_outside_the_run(small, trained):
    """The authors keep it in a module's global: a second run would start with the first one's."""
    config = small(**STILL, fgsm_gradient="stale")
    first, second = trained(config), trained(config)
    assert first.progress.history == second.progress.history
    assert not [v for v in vars(loop).values() if isinstance(v, torch.Tensor)]


# 8
def test_slices_count_from_the_newest():
    queue = NegativeQueue(8, 2, 8, torch.Generator())
    for step in (1, 2):
        queue.enqueue(torch.full((2, 2), float(step)), step)
    assert queue.negatives(((0, 2),))[:, 0].tolist() == [2.0, 2.0]
    assert queue.negatives(((2, 4),))[:, 0].tolist() == [1.0, 1.0]
    assert queue.ages(2).tolist() == [0, 0, 1, 1, *[RANDOM] * 4]


# 9
def published_queue(size, init, batch, steps):
    """The authors' bookkeeping as lists: what each step's loss sees ("r" for random)."""
    buffer, count, seen = ["r"] * size, init, []
    for step in range(1, steps + 1):
        seen.append(buffer[: count + init] if count + init < size else list(buffer))
        buffer = [step] * batch + buffer
        count += batch
        if count > size:
            buffer = buffer[:size]
    return seen


@pytest.mark.parametrize(
    ("size", "init", "batch"), [(12, 4, 4), (12, 0, 4), (12, 12, 4), (13, 3, 5), (512, 128, 64)]
)
def test_the_published_queue_grows_past_its_size_only_behind_its_switch(size, init, batch):
    steps = 2 * (size // batch) + 3
    lengths = {}
    for growth in ("exact", "published"):
        queue = NegativeQueue(size, 2, init, torch.Generator().manual_seed(0), growth)
        seen, lengths[growth] = published_queue(size, init, batch, steps), []
        for step in range(1, steps + 1):
            born = queue.born[: len(queue.negatives())].tolist()
            lengths[growth].append(len(born))
            if growth == "published":
                assert ["r" if b == RANDOM else b for b in born] == seen[step - 1]
            else:
                assert len(born) == min(size, init + (step - 1) * batch)
                assert born.count(RANDOM) <= init
            queue.enqueue(torch.zeros(batch, 2), step)
    assert max(lengths["exact"]) == size
    if init < size:
        assert max(lengths["published"]) > size


# 10
@pytest.mark.parametrize("dropout", [True, False])
def test_target_dropout_is_active_unless_switched_off(small, encoder, view, dropout):
    t = Training(small(target_dropout=dropout), encoder)
    assert torch.equal(t.target(view), t.target(view)) != dropout
    assert not torch.equal(t.online(view), t.online(view))
    assert (
        Config().target_dropout
        and AS_DESCRIBED["target_dropout"]
        and AS_PUBLISHED["target_dropout"]
    )


# 11
def test_the_optimiser_is_adam_as_described_and_adamw_as_published(encoder):
    for preset, kind in (("as_described", torch.optim.Adam), ("as_published", torch.optim.AdamW)):
        assert type(Training(configure("quick", preset), encoder).optimizer) is kind


# 12
@pytest.mark.parametrize("preset", PRESETS)
def test_checkpoints_are_chosen_on_the_test_sets_only_as_published(
    small, trained, monkeypatch, preset
):
    asked = []
    for name in ("dev_score", "test_score"):
        monkeypatch.setattr(loop.sts, name, lambda *a, name=name: asked.append(name) or 1.0)
    trained(small(**PRESETS[preset]))
    assert set(asked) == {"test_score" if preset == "as_published" else "dev_score"}


# 13
def test_only_the_target_view_gets_augmented_text_as_published():
    """The switch; the augmentations of text themselves come with their own section."""
    assert AS_PUBLISHED["augmented_views"] == "target" and AS_DESCRIBED["augmented_views"] == "both"


# 14
NOISY = dict(position_shuffle=True, token_cutoff=0.2, feature_cutoff=0.2)


@pytest.mark.parametrize("preset", PRESETS)
def test_shuffle_and_cutoffs_are_off_while_scoring_unless_published(small, encoder, preset):
    config = small(**{**PRESETS[preset], **NOISY})
    texts = ["The baker sold bread.", "A dog ran over the hill."]
    found, plain = encode_as(config, encoder)(texts), encoder.encode(texts)
    assert (found == plain).all() == (preset != "as_published")
    assert (found == encode_as(config, encoder)(texts)).all()  # noisy, but the same noise


# 15
@pytest.mark.parametrize("preset", PRESETS)
def test_the_pooler_is_linear_without_tanh(encoder, view, preset):
    config = configure("quick", preset, projection_layers=0, predictor_layers=0)
    online = Branch(encoder, config).eval()
    cls = encoder(view.words, view.mask)
    expected = cls @ encoder.pooler.weight.T + encoder.pooler.bias
    torch.testing.assert_close(online(view), expected)
    assert expected.abs().max() > 1  # beyond what a tanh could give


# and what the rules add
def test_the_code_asks_for_no_gpu_by_name():
    for module in (loop, augment, data, inspect.getmodule(Branch), inspect.getmodule(Encoder)):
        assert ".cuda()" not in inspect.getsource(module)


def test_forward_has_no_side_effects(encoder, view):
    """Theirs updates the target and the queue within `forward`."""
    config = Config()
    online = Branch(encoder, config).train()
    before = {k: v.clone() for k, v in online.state_dict().items()}
    online(view), online(view)
    assert all(torch.equal(v, before[k]) for k, v in online.state_dict().items())


def test_the_two_presets_can_be_told_apart_in_every_switch():
    switches = set(AS_PUBLISHED) & set(AS_DESCRIBED)
    same = {name for name in switches if AS_PUBLISHED[name] == AS_DESCRIBED[name]}
    assert same == {"temperature", "ema_schedule", "ema_decay", "fgsm_epsilon", "precision",
                    "target_dropout", "batch_lengths"}  # fmt: skip
    with pytest.raises(InputError):
        Config(**{**AS_PUBLISHED, "shared_embeddings": False})
