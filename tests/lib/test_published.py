"""What is known of the authors' public code: ours lacks it, or has it behind a switch.

The presets set the switches; the README lists the differences.
"""

import sys

import pytest
import torch
from texts import generator

from mocose_lib import Settings
from mocose_lib.model import Branch
from mocose_lib.queue import RANDOM, NegativeQueue
from mocose_study.config.profiles import PRESETS
from mocose_study.systems import base, fit, mocose

loop = sys.modules["mocose_lib.train"]
each_preset = pytest.mark.parametrize("preset", PRESETS)


# 1: the batch's other keys are negatives behind their switch; see test_loss
# 2: the dot product is behind its switch; see test_loss
# 3: a projection of two and more layers runs; see test_model
# 4: the cosine of the moving average turns back; see test_ema
# 5: the target follows after each step, and shares embeddings behind its switch,
# 6: the target's projection and shared embeddings get the keys' gradient so, too,
# 7: FGSM has the gradient of this batch, or behind its switch the last one's:
# test_whole_step has all of them, in the presets `study`, `described` and `code`
def test_fgsm_takes_the_gradient_of_each_views_own_tokens(encoder, monkeypatch):
    """A crop or a rewriting gives the key other tokens than the query."""
    shapes, real = [], loop.moved
    moved = lambda *given: [shapes.append(given[1].shape[1]), real(*given)][1]  # noqa
    monkeypatch.setattr(loop, "moved", moved)
    trainer = loop.MoCoSE(Settings(batch_size=2, fgsm_epsilon=1e-3), encoder)
    loop.train_step(trainer, [[2, 9, 3], [2, 8, 3]], [[2, 9, 7, 3], [2, 3]], 1)
    assert shapes == [3, 4]


# no gradient is kept outside a training, so that a second one is the first one again:
# test_resume has two in one process, as published
# 8: slices begin when the queue is full; with 9
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
def test_the_queue_grows_past_its_size_behind_its_switch(size, init, batch):
    """And not without it: test_queue has the other growth."""
    seen = published_queue(size, init, batch, steps=2 * (size // batch) + 3)
    queue = NegativeQueue(size, 2, init, generator(), "published")
    for step, expected in enumerate(seen, 1):
        born = queue.born[: len(queue.negatives())].tolist()
        assert ["r" if b == RANDOM else b for b in born] == expected
        full = 1 if len(born) >= size else len(born)
        assert len(queue.negatives(((0, 1),))) == full
        queue.enqueue(torch.zeros(batch, 2), step)
    assert (max(map(len, seen)) > size) == (0 < init < size)


# 10
@pytest.mark.parametrize("dropout", [True, False])
def test_target_dropout_is_active_unless_switched_off(encoder, view, dropout):
    trainer = loop.MoCoSE(Settings(target_dropout=dropout), encoder)
    assert torch.equal(trainer.target(view), trainer.target(view)) != dropout
    assert not torch.equal(trainer.online(view), trainer.online(view))


# 11: the optimiser of transformers 4; see test_whole_step
# 12
@each_preset
def test_the_test_sets_choose_only_as_published(small, monkeypatch, preset):
    """Three evaluations choose; the last step also looks at the test sets."""
    splits, real = [], base.evaluate

    def evaluate(encode, tables):
        splits.append(next(iter(tables)).rpartition(" ")[2])
        return real(encode, tables)

    monkeypatch.setattr(base, "evaluate", evaluate)
    fit(small(**PRESETS[preset]), bar=False)
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
def test_the_pooler_is_linear_without_tanh(encoder, view):
    cls = encoder(view.words, view.mask)
    linear = cls @ encoder.pooler.weight.T + encoder.pooler.bias
    assert linear.abs().max() > 1  # beyond what a tanh could give
    for activation, expected in (("none", linear), ("tanh", linear.tanh())):
        bare = dict(projection_layers=0, predictor_layers=0)
        branch = Branch(encoder, Settings(pooler_activation=activation, **bare)).eval()
        torch.testing.assert_close(branch(view), expected)
