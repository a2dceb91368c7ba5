"""More of the authors' public code: its queue, optimiser, checkpoints and scoring."""

import sys

import pytest
import torch
from test_published import AS_DESCRIBED, AS_PUBLISHED, PRESETS, each_preset, recorded
from torch import nn

from mocose_lib import Settings
from mocose_lib.model import Branch
from mocose_lib.queue import RANDOM, NegativeQueue
from mocose_lib.trainer import TransformersAdamW
from mocose_study.config import configure
from mocose_study.rewriting.tokens import shortened
from mocose_study.systems import base, fit, mocose

loop = sys.modules["mocose_lib.train"]


# 8
def test_slices_begin_when_the_queue_is_full():
    """Table 8's run, slice 0 to 512: their third step has 768 negatives, the fourth 512."""
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
    """Epsilon stands before the bias correction: at the first step it counts 31 times."""
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
def test_checkpoints_are_chosen_on_the_test_sets_only_as_published(
    small, monkeypatch, preset
):
    """Three evaluations choose; the last step also looks at the test sets."""
    calls = recorded(monkeypatch, base, "evaluate", [])
    fit(small(**PRESETS[preset]), bar=False)
    splits = [next(iter(tables)).rpartition(" ")[2] for _, (_, tables) in calls]
    assert splits == (["test"] * 4 if preset == "code" else ["dev"] * 3 + ["test"])


# 13
@pytest.mark.parametrize("which", ["target", "both"])
def test_only_the_target_view_is_shortened_behind_the_switch(small, which):
    ids = [[2, *range(10, 30), 3] for _ in range(4)]
    config = small(crop=0.5, augmented_views=which)
    query, key = shortened(ids, ids, config, torch.Generator().manual_seed(0))
    assert key != ids and (query == ids) == (which == "target")


# 14
@each_preset
def test_shuffle_and_cutoffs_are_off_while_scoring_unless_published(
    small, encoder, preset
):
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
