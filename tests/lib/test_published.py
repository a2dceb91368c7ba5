"""What is known of the authors' public code: ours does not have it, or only behind a switch.

The README lists the differences ("What differs from the paper's code"); the presets set the switches.
"""

import inspect
import math
import sys
from dataclasses import replace

import pytest
import torch
from conftest import of_the_method
from torch import nn

from mocose_lib import InputError, Settings, augment, fgsm, model
from mocose_lib import encoder as encoders
from mocose_lib.ema import decay_at
from mocose_lib.fgsm import FGSM
from mocose_lib.loss import info_nce
from mocose_lib.heads import head
from mocose_lib.model import Branch, View
from mocose_lib.optimizer import TransformersAdamW
from mocose_lib.queue import RANDOM, NegativeQueue
from mocose_lib.trainer import Trainer
from mocose_study.config import Config, configure
from mocose_study.config.profiles import PRESETS as EVERY
from mocose_study.rewriting.tokens import shortened
from mocose_study.systems import base, mocose

loop = sys.modules["mocose_lib.train"]
PRESETS = {name: EVERY[name] for name in ("study", "described", "code")}
AS_DESCRIBED, AS_PUBLISHED = PRESETS["described"], PRESETS["code"]
EMBEDDINGS = "encoder.model.embeddings."


def recorded(monkeypatch, place, name, calls):
    """Calls of a function are noted in `calls` as (name, arguments)."""
    real = getattr(place, name)

    def noting(*arguments, **options):
        calls.append((name, arguments))
        return real(*arguments, **options)

    monkeypatch.setattr(place, name, noting)


# 1
def test_other_keys_of_the_batch_are_negatives_only_behind_their_switch():
    q, k = torch.eye(4), torch.eye(4)
    n = torch.zeros(3, 4)
    queue_only = math.log(1 + 3 * math.exp(-1))
    with_batch = math.log(1 + (3 + 3) * math.exp(-1))
    assert info_nce(q, k, n, 1.0).item() == pytest.approx(queue_only, abs=1e-6)
    found = info_nce(q, k, n, 1.0, batch_negatives=True).item()
    assert found == pytest.approx(with_batch, abs=1e-6)
    assert AS_PUBLISHED["batch_negatives"] and not AS_DESCRIBED["batch_negatives"]


# 2
def test_the_dot_product_is_behind_its_switch():
    """Equation 3 has one; "similar to MoCo" (section 3) is read as MoCo's cosine."""
    q, k, n = (
        torch.tensor([[2.0, 0.0]]),
        torch.tensor([[3.0, 0.0]]),
        torch.tensor([[4.0, 0.0]]),
    )
    dot = -math.log(math.exp(6) / (math.exp(6) + math.exp(8)))
    found = info_nce(q, k, n, 1.0, "dot").item()
    assert found == pytest.approx(dot, abs=1e-5)
    found = info_nce(q, k, n, 1.0, AS_PUBLISHED["similarity"]).item()
    assert found == pytest.approx(math.log(2), abs=1e-5)
    assert AS_DESCRIBED["similarity"] == "cosine"


# 3
@pytest.mark.parametrize("layers", range(4))
def test_a_projection_of_two_and_more_layers_runs(layers):
    found = head(layers, 16, 16, "published", 0.1, 1e-12)
    assert found(torch.randn(3, 16)).shape == (3, 16)
    assert sum(isinstance(m, nn.Linear) for m in found) == layers


# 4
def test_the_ema_cosine_turns_back_only_as_published():
    """Theirs falls again behind step 15,000, to 0.9989 at the end of their run."""
    settings = Settings(**{**of_the_method(AS_PUBLISHED), "steps": 15_625})
    assert settings.ema_horizon == 15_000 and settings.ema_decay_end == 1.0
    assert decay_at(15_000, settings) == 1.0
    assert decay_at(15_625, settings) == pytest.approx(0.9989, abs=5e-5)
    assert decay_at(30_000, settings) == 0.75
    decays = [
        decay_at(step, replace(settings, ema_schedule="cosine"))
        for step in range(31_000)
    ]
    assert decays == sorted(decays) and decays[-1] == 1.0


def test_the_ema_horizon_is_no_constant_of_the_code():
    settings = Settings(
        ema_schedule="cosine", ema_decay=0.75, ema_decay_end=0.95, steps=40
    )
    assert decay_at(40, settings) == 0.95 and decay_at(20, settings) == pytest.approx(
        0.85
    )


# 5
def test_the_target_follows_after_each_step(go, monkeypatch):
    """Theirs follows before the forward pass: the same, with the decay of the step to come."""
    calls = []
    for place, name in (
        (loop, "update_ema"),
        (loop, "contrast"),
        (Trainer, "optimise"),
    ):
        recorded(monkeypatch, place, name, calls)
    trainer = go(steps=3)
    assert [name for name, _ in calls] == ["contrast", "optimise", "update_ema"] * 3
    decays = [arguments[2] for name, arguments in calls if name == "update_ema"]
    assert decays == [decay_at(step, trainer.settings) for step in (2, 3, 4)]


@pytest.mark.parametrize("shared", [False, True])
def test_embeddings_have_a_target_copy_unless_the_switch_shares_them(go, shared):
    trainer = go(shared_embeddings=shared, choose=False)
    online = dict(trainer.online.named_parameters())
    for name, parameter in trainer.target.named_parameters():
        assert (parameter is online[name]) == (shared and name.startswith(EMBEDDINGS))
        if parameter is not online[name] and "word" not in name:
            assert not torch.equal(parameter, online[name])  # it lags behind


# 6
@pytest.mark.parametrize("preset", PRESETS)
def test_keys_are_detached_unless_published(go, monkeypatch, preset):
    calls = []
    recorded(monkeypatch, loop, "contrast", calls)
    go(**{**of_the_method(PRESETS[preset]), "fgsm_epsilon": 0.0, "steps": 2})
    assert all(a[2][0].requires_grad == (preset == "code") for _, a in calls)
    assert not any(a[3].requires_grad for _, a in calls)  # the queue's never are


def test_the_key_gradient_reaches_the_shared_embeddings_only_as_published(
    go, monkeypatch
):
    """Without a query gradient, what is left at the word embeddings comes through the keys."""
    found, real = {}, loop.info_nce
    monkeypatch.setattr(
        loop, "info_nce", lambda q, *rest: real(q.detach(), *rest) + 0 * q.sum()
    )
    for detach in (True, False):
        trainer = go(shared_embeddings=True, detach_keys=detach, steps=1, choose=False)
        word = trainer.scored.model.get_input_embeddings().weight.grad
        found[detach] = word.abs().max().item()
        own = [
            p
            for n, p in trainer.target.named_parameters()
            if not n.startswith(EMBEDDINGS)
        ]
        assert all(p.grad is None for p in own)
    assert found[True] == 0 and found[False] > 0


@pytest.mark.parametrize("preset", PRESETS)
def test_the_targets_projection_is_in_the_optimiser_only_as_published(encoder, preset):
    trainer = loop.MoCoSE(Settings(**of_the_method(PRESETS[preset])), encoder)
    online = {id(p) for p in trainer.online.parameters()}
    trained = {
        id(p) for group in trainer.optimizer.param_groups for p in group["params"]
    }
    inside = [
        p
        for p in trainer.target.parameters()
        if id(p) not in online and id(p) in trained
    ]
    expected = list(trainer.target.projection.parameters()) if preset == "code" else []
    assert {id(p) for p in inside} == {id(p) for p in expected}


# 7
STILL = {
    "fgsm_epsilon": 1e-3,
    "dropout": 0.0,
    "head_dropout": 0.0,
    "steps": 3,
    "max_length": 8,
}


def noise(monkeypatch):
    """What FGSM is given, twice a step: for the query's view and for the key's."""
    calls = []
    recorded(monkeypatch, fgsm, "moved", calls)
    return calls


def test_fgsm_uses_the_gradient_of_this_input(go, monkeypatch):
    """Without dropout the gradient is that of the very loss that the batch has unperturbed."""
    found, expected = noise(monkeypatch), []
    real = loop.fgsm_probe

    def probe(trainer, ids, mask, negatives):
        words = trainer.scored.words(ids).detach().requires_grad_()
        keys = trainer.target(View(trainer.target.encoder.words(ids), mask)).detach()
        loss = loop.contrast(
            trainer, trainer.online(View(words, mask)), [keys], negatives
        )
        expected.append(torch.autograd.grad(loss, words)[0])
        return real(trainer, ids, mask, negatives)

    monkeypatch.setattr(loop, "fgsm_probe", probe)
    go(**STILL)
    assert len(found) == 6 and len(expected) == 3  # both views, three steps
    for step in range(3):
        for _, (_, gradient, _) in found[2 * step : 2 * step + 2]:
            torch.testing.assert_close(gradient, expected[step])


def test_fgsm_takes_each_views_own_gradient_where_their_tokens_differ():
    """A crop or a rewriting gives the key other tokens than the query."""
    slopes = [torch.tensor([[[1.0], [-1.0]]]), torch.tensor([[[-1.0], [1.0], [1.0]]])]

    def fresh(slope):
        return View(
            torch.zeros_like(slope), torch.ones(slope.shape[:2], dtype=torch.bool)
        )

    def probe(slope):
        return lambda: (fresh(slope), lambda moving: (moving.words * slope).sum())

    views = [fresh(slope) for slope in slopes]
    FGSM(0.5, "current").perturb(views, [probe(slope) for slope in slopes])
    assert [view.words.flatten().tolist() for view in views] == [
        [0.5, -0.5],
        [-0.5, 0.5, 0.5],
    ]


def test_fgsm_uses_the_last_steps_gradient_only_behind_its_switch(go, monkeypatch):
    found, left = noise(monkeypatch), []
    real = Trainer.optimise

    def optimise(trainer, loss, step):
        real(trainer, loss, step)
        left.append(trainer.fgsm.gradient)

    monkeypatch.setattr(Trainer, "optimise", optimise)
    go(**STILL, fgsm_gradient="stale")
    gradients = [gradient for _, (_, gradient, _) in found[::2]]
    assert gradients[0] is None
    for step in (1, 2):
        assert (
            torch.equal(gradients[step], left[step - 1])
            and left[step - 1].abs().sum() > 0
        )


def test_no_gradient_is_kept_outside_the_training(go):
    """The authors keep it in a module's global: a second run would start with the first one's."""
    first, second = (go(**STILL, fgsm_gradient="stale") for _ in range(2))
    assert first.progress.history == second.progress.history
    for module in (loop, fgsm):
        assert not [v for v in vars(module).values() if isinstance(v, torch.Tensor)]


# 8
def test_slices_count_from_the_newest():
    queue = NegativeQueue(8, 2, 8, torch.Generator())
    for step in (1, 2):
        queue.enqueue(torch.full((2, 2), float(step)), step)
    assert queue.negatives(((0, 2),))[:, 0].tolist() == [2.0, 2.0]
    assert queue.negatives(((2, 4),))[:, 0].tolist() == [1.0, 1.0]
    assert queue.ages(2).tolist() == [0, 0, 1, 1, *[RANDOM] * 4]


def test_slices_begin_when_the_queue_is_full():
    """Table 8's run, slice 0 to 512: their third step uses 768 negatives, the fourth 512."""
    queue = NegativeQueue(1024, 2, 128, torch.Generator().manual_seed(0), "published")
    used = []
    for step in range(1, 6):
        used.append(len(queue.negatives(((0, 512),))))
        queue.enqueue(torch.zeros(256, 2), step)
    assert used == [256, 512, 768, 512, 512]


# 9
def published_queue(size, init, batch, steps):
    """The authors' bookkeeping as lists: what each step's loss sees ("r" for random)."""
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
def test_the_published_queue_grows_past_its_size_only_behind_its_switch(
    size, init, batch
):
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
    assert (max(lengths["published"]) > size) == (0 < init < size)


# 10
@pytest.mark.parametrize("dropout", [True, False])
def test_target_dropout_is_active_unless_switched_off(encoder, view, dropout):
    trainer = loop.MoCoSE(Settings(target_dropout=dropout), encoder)
    assert torch.equal(trainer.target(view), trainer.target(view)) != dropout
    assert not torch.equal(trainer.online(view), trainer.online(view))
    assert AS_DESCRIBED["target_dropout"] and AS_PUBLISHED["target_dropout"]


# 11
def test_the_optimiser_is_that_of_transformers_4_only_as_published(encoder):
    kinds = {"described": torch.optim.AdamW, "code": TransformersAdamW}
    for preset, kind in kinds.items():
        settings = Settings(**of_the_method(PRESETS[preset]))
        assert type(loop.MoCoSE(settings, encoder).optimizer) is kind


def test_the_optimiser_of_transformers_4_by_hand():
    """Epsilon stands before the bias correction: at the first step it counts 31 times."""
    p = nn.Parameter(torch.tensor([1.0, 1.0]))
    p.grad = torch.tensor([1e-8, 0.5])
    TransformersAdamW([p], lr=0.1, weight_decay=0.01).step()
    small = 1e-8 / (1e-8 + 1e-8 / 0.001**0.5)
    expected = [(1 - 0.1 * x) * (1 - 0.1 * 0.01) for x in (small, 1.0)]
    assert p.tolist() == pytest.approx(expected, abs=1e-6)


def test_biases_and_layer_norms_do_not_decay(encoder):
    """As in BERT's training; words that no batch holds keep their vectors but for the decay."""
    trainer = loop.MoCoSE(Settings(weight_decay=0.1), encoder)
    for group in trainer.optimizer.param_groups:
        assert {p.ndim > 1 for p in group["params"]} == {group["weight_decay"] > 0}


# 12
@pytest.mark.parametrize("preset", PRESETS)
def test_checkpoints_are_chosen_on_the_test_sets_only_as_published(
    small, monkeypatch, preset
):
    """Three evaluations choose; the last step also looks at the test sets, in any preset."""
    calls = []
    recorded(monkeypatch, base, "evaluate", calls)
    mocose.fit(small(**PRESETS[preset]), bar=False)
    splits = [next(iter(tables)).rpartition(" ")[2] for _, (_, tables) in calls]
    assert splits == (["test"] * 4 if preset == "code" else ["dev"] * 3 + ["test"])


# 13
@pytest.mark.parametrize("which", ["target", "both"])
def test_only_the_target_view_is_shortened_behind_the_switch(small, which):
    ids = [[2, *range(10, 30), 3] for _ in range(4)]
    generator = torch.Generator().manual_seed(0)
    query, key = shortened(ids, ids, small(crop=0.5, augmented_views=which), generator)
    assert key != ids and (query == ids) == (which == "target")


# 14
NOISY = {"position_shuffle": True, "token_cutoff": 0.2, "feature_cutoff": 0.2}


@pytest.mark.parametrize("preset", PRESETS)
def test_shuffle_and_cutoffs_are_off_while_scoring_unless_published(
    small, encoder, preset
):
    config = small(**{**PRESETS[preset], **NOISY})
    texts = ["The baker sold bread.", "A dog ran over the hill."]
    found, plain = mocose.encode_as(config, encoder)(texts), encoder.encode(texts)
    assert (found == plain).all() == (preset != "code")
    assert (
        found == mocose.encode_as(config, encoder)(texts)
    ).all()  # noisy, but the same noise


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
    for module in (loop, augment, model, encoders):
        assert ".cuda()" not in inspect.getsource(module)


def test_forward_has_no_side_effects(encoder, view):
    """Theirs updates the target and the queue within `forward`."""
    online = Branch(encoder, Settings()).train()
    before = {k: v.clone() for k, v in online.state_dict().items()}
    online(view), online(view)
    assert all(torch.equal(v, before[k]) for k, v in online.state_dict().items())


def test_the_two_presets_can_be_told_apart_in_every_switch():
    switches = set(AS_PUBLISHED) & set(AS_DESCRIBED)
    alike = {name for name in switches if AS_PUBLISHED[name] == AS_DESCRIBED[name]}
    numbers = {"temperature", "ema_decay", "fgsm_epsilon"}
    assert alike == numbers | {"similarity", "precision", "target_dropout"}
    with pytest.raises(InputError):
        Config(**{**AS_PUBLISHED, "shared_embeddings": False})
