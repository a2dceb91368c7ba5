"""Twenty steps of a training against MoCoSE and SimCSE written once more, plainly.

Dropout is off, and all is in double precision: loss, queue and parameters are equal.
"""

import math
from functools import partial

import pytest
import torch
from conftest import of_the_method
from texts import open_sentences
from torch.func import functional_call
from torch.nn import functional as F

from mocose_lib import Encoder, Settings
from mocose_lib.train import MoCoSE, train_step
from mocose_lib.trainer import batches
from mocose_study.config.profiles import PRESETS
from mocose_study.systems.base import train_system
from mocose_study.systems.simcse import SimCSE

STEPS, RATE = 20, 1e-3
SIZES = dict(steps=STEPS, batch_size=8, queue_size=40, queue_init=10, lr=RATE)
SIZES |= dict(max_length=16, head_dropout=0.0, weight_decay=0.1, eval_every=STEPS)
SIZES |= dict(fgsm_epsilon=1e-3)  # so large that a wrong gradient shows
MODEL = "encoder.model."
WORDS = f"{MODEL}embeddings.word_embeddings.weight"


class Plain:
    """The parameters of both branches as dictionaries, and their training by steps."""

    def __init__(self, s, bert, online, target=None, queue=None):
        def copied(state):
            return {n: p.detach().clone().requires_grad_() for n, p in state.items()}

        self.s, self.bert, self.p = s, bert, copied(online)
        self.target = copied(target or {})
        if s.shared_embeddings:
            self.target |= {n: p for n, p in self.p.items() if ".embeddings." in n}
        self.queue, self.count = queue, s.queue_init
        self.moments = {}

    def first_token(self, p, mask, **inputs):
        """What the encoder gives for [CLS]."""
        body = {n[len(MODEL) :]: t for n, t in p.items() if n.startswith(MODEL)}
        inputs["attention_mask"] = mask.long()
        return functional_call(self.bert, body, kwargs=inputs).last_hidden_state[:, 0]

    def linear(self, p, x, name):
        return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

    def branch(self, p, words, mask, predictor):
        """[CLS] -> pooler -> projection of one layer -> predictor of two layers."""

        def norm(x, name):
            width = (x.shape[1],)
            return F.layer_norm(x, width, p[f"{name}.weight"], p[f"{name}.bias"], 1e-12)

        linear = partial(self.linear, p)
        x = self.first_token(p, mask, inputs_embeds=words)
        x = linear(linear(x, "encoder.pooler"), "projection.0")
        if self.s.heads == "published":
            x = norm(x, "projection.1")
            if predictor:
                x = norm(linear(x, "predictor.0"), "predictor.1")
                x = linear(x, "predictor.3").tanh()
        elif predictor:
            x = linear(linear(x, "predictor.0").relu(), "predictor.2")
        return x

    def loss(self, words, keys, mask, negatives):
        q, k = self.branch(self.p, words, mask, True), keys
        total = 0.0
        for i in range(len(q)):
            against = [*negatives]
            if self.s.batch_negatives:
                against += [k[j] for j in range(len(k)) if j != i]
            cosines = [F.cosine_similarity(q[i], x, dim=0) for x in (k[i], *against)]
            logits = torch.stack(cosines) / self.s.temperature
            total = total - (logits[0] - logits.logsumexp(0))
        return total / len(q)

    def step(self, ids, mask, number):
        s = self.s
        if number > 1:  # the target follows what the last step left
            first, last = s.ema_decay
            turned = math.cos(math.pi * number / (s.ema_horizon * s.steps))
            eta = (first + last) / 2 - (last - first) / 2 * turned
            for name, p in self.target.items():
                if p is not self.p[name]:
                    p.data = eta * p.data + (1 - eta) * self.p[name].data
        negatives = self.queue
        if s.queue_growth == "published" and self.count + s.queue_init < s.queue_size:
            negatives = self.queue[: self.count + s.queue_init]
        x, y = self.p[WORDS][ids], self.target[WORDS][ids]
        if s.fgsm_gradient == "current":
            free = x.detach().requires_grad_()
            keys = self.branch(self.target, y, mask, False).detach()
            loss = self.loss(free, keys, mask, negatives)
            gradient = torch.autograd.grad(loss, free)[0]
        else:  # that of the last step, cut or filled to this batch's length
            gradient = torch.zeros_like(x)
            if number > 1:
                n = min(x.shape[1], self.stale.shape[1])
                gradient[:, :n] = self.stale[:, :n]
            x.register_hook(lambda g: setattr(self, "stale", g))
        moved = [words + s.fgsm_epsilon * gradient.sign() for words in (x, y)]
        keys = self.branch(self.target, moved[1], mask, False)
        if s.detach_keys:
            keys = keys.detach()
        loss = self.loss(moved[0], keys, mask, negatives)
        trained = dict(self.p)
        if s.target_projection_trained:
            own = {n: p for n, p in self.target.items() if "projection" in n}
            trained |= {f"target {n}": p for n, p in own.items()}
        self.adamw(loss, trained, number)
        self.queue = torch.cat([keys.detach(), self.queue])
        self.count += len(keys)
        if s.queue_growth == "exact" or self.count > s.queue_size:
            self.queue = self.queue[: s.queue_size]
        return loss.item()

    def adamw(self, loss, trained, number):
        """Clipping at norm 1, and one update at the rate of this step."""
        for p in (*self.p.values(), *self.target.values()):
            p.grad = None
        loss.backward()
        gradients = [p.grad for p in trained.values() if p.grad is not None]
        norm = sum(gradient.square().sum() for gradient in gradients).sqrt()
        rate = RATE * (1 - (number - 1) / STEPS)
        for name, p in trained.items():
            if p.grad is None:
                continue
            g = p.grad * min(1.0, 1 / (norm + 1e-6))
            m, v = self.moments.get(name, (torch.zeros_like(p), torch.zeros_like(p)))
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            self.moments[name] = m, v
            decay = self.s.weight_decay if p.ndim > 1 else 0.0
            first, second = 1 - 0.9**number, 1 - 0.999**number
            if self.s.optimizer == "adamw":
                kept = p.data * (1 - rate * decay)
                p.data = kept - rate * (m / first) / ((v / second).sqrt() + 1e-8)
            else:
                new = p.data - rate * second**0.5 / first * m / (v.sqrt() + 1e-8)
                p.data = new * (1 - rate * decay)


def assert_equal(found, expected):
    for name, value in expected.items():
        close = dict(rtol=0, atol=1e-10, msg=name)
        torch.testing.assert_close(found[name], value.detach(), **close)


@pytest.mark.parametrize("preset", ["study", "described", "code"])
def test_twenty_steps_of_mocose_are_those_of_a_plain_one(tiny, double, preset):
    method = {**of_the_method(PRESETS[preset]), **SIZES}
    method["ema_horizon"] = 0.6  # the published cosine turns back after 12 steps
    settings = Settings(**method)
    encoder = Encoder.load(tiny, dropout=0.0).double()
    trainer = MoCoSE(settings, encoder, encoder.tokenize(open_sentences(64), 16))
    start = [dict(b.named_parameters()) for b in (trainer.online, trainer.target)]
    plain = Plain(settings, encoder.model, *start, trainer.queue.keys.clone())
    order = batches(trainer.ids, settings)
    for number in range(1, STEPS + 1):
        ids, _ = trainer.views(next(order))
        train_step(trainer, ids, ids, number)
        loss = plain.step(*encoder.pad(ids), number)
        assert trainer.loss.item() == pytest.approx(loss, abs=1e-10)
    torch.testing.assert_close(trainer.queue.keys, plain.queue, rtol=0, atol=1e-10)
    assert_equal(dict(trainer.online.named_parameters()), plain.p)


def test_twenty_steps_of_simcse_are_those_of_a_plain_one(tiny, small, double):
    config = small(method="simcse", selection="last", **SIZES)
    encoder = Encoder.load(tiny, dropout=0.0, max_length=32).double()
    system = SimCSE(config, encoder, SimCSE.inputs(config, encoder)).double()

    def named():
        named = {n: p for n, p in system.named_parameters() if "pooler" not in n}
        return {n.replace("mlp.0", "projection.0"): p for n, p in named.items()}

    plain = Plain(config, encoder.model, named())
    order = batches(system.ids, config)
    for number in range(1, STEPS + 1):
        tokens = [system.ids[int(row)]["input_ids"] for row in next(order)]
        ids, mask = encoder.pad(tokens)
        x = plain.first_token(plain.p, mask, input_ids=ids)
        x = F.normalize(plain.linear(plain.p, x, "projection.0").tanh(), dim=1)
        loss = -(x @ x.T / config.temperature).log_softmax(1).diagonal().mean()
        plain.adamw(loss, plain.p, number)
    fitted = train_system(config, system, None, False)
    assert fitted.progress.history[-1]["loss"] == pytest.approx(loss.item(), abs=1e-5)
    assert_equal(named(), plain.p)
