"""What all systems promise: their facts; resumable, repeatable, as the Config says."""

import sys
from dataclasses import asdict
from itertools import combinations, repeat

import numpy as np
import pytest
import torch
from making import built, triplets
from texts import articles, open_sentences

from mocose_lib import Encoder, trainer
from mocose_lib.encoder import hidden_states as plain_states
from mocose_study import systems
from mocose_study.config import FIELDS, Config, InputError
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.fast import hidden_states as fast_states
from mocose_study.fast.dropout import PackedDropout
from mocose_study.systems import KINDS, SWITCHES, SYSTEMS, base, check, fit, probe
from mocose_study.systems.base import System, load_encoder

SENTENCES = open_sentences(12, start=50)
TRAINED = sorted(name for name, kind in SYSTEMS.items() if kind.draws)
MODELS = sorted({*TRAINED} - {"mocose"})


@pytest.fixture
def make(small, tmp_path):
    """Makes Configs of any system: with documents, and triplets, of open sentences."""
    corpus = articles(tmp_path / "articles.txt", 8, 30)
    of_three = triplets(tmp_path / "nli.tsv", open_sentences(240, start=300))
    fields = {"corpus": str(corpus), "triplets": str(of_three), "selection": "last"}
    fields |= {"corpus_size": 240, "batch_size": 8, "eval_every": 5}

    def make(method, **changes):
        options = {"word_deletion": 0.1, "mlm_weight": 0.1}
        own = {k: v for k, v in options.items() if k in SYSTEMS[method].own}
        return small(method=method, **{**fields, **own, **changes})

    return make


# --- facts ---
def test_the_facts_agree_with_the_config(study):
    for fact in ("name", "label", "colour"):
        assert len({getattr(kind, fact) for kind in KINDS}) == len(KINDS), fact
    for kind in KINDS:
        assert all(hasattr(kind, fact) for fact in System.__annotations__)
        assert {*kind.reads, *kind.own} <= {*FIELDS} and not {*SWITCHES} - {*FIELDS}
        assert set(systems.input_digests(Config(method=kind.name))) >= {"benchmark"}
    assert not systems.draws(Config(method="untrained"))
    assert systems.draws(Config(method="untrained", encoder_init="random"))
    assert not systems.draws(Config(method="word_vectors", encoder_init="random"))


IMPOSSIBLE = [
    ("ct", {"crop": 0.5}, "ct has no crop"),
    ("mocose", {"word_deletion": 0.1}, "mocose has no word_deletion"),
    ("simcse", {"fgsm_epsilon": 5e-9}, "simcse has no .*set fgsm_epsilon = 0"),
    ("flow", {"text_augmentation": "typos"}, "set text_augmentation = 'none'"),
    ("is_bert", {"positives": "next_three"}, "is_bert has no positives"),
    ("simcse", {"token_cutoff": 0.1}, "simcse has no token_cutoff"),
    ("ct", {"batch_size": 12}, "batch_size = 12 is no multiple of 8"),
    ("ct", {"pooling": "cls_pooler"}, "would measure a layer that ct does not"),
    ("declutr", {"max_length": 9}, "leaves no span of 8 tokens"),
    ("s_simcse", {"dropout_low": 0.3}, "dropout_low = 0.3 is larger than"),
    ("simcse", {"same_mask": True, "crop": 0.1}, "same_mask needs two views"),
    ("simcse", {"positives": "contradiction"}, "needs method = 'simcse_supervised'"),
    ("simcse_supervised", {"positives": "next_three"}, "have no positives 'next_thr"),
    ("simcse_supervised", {"positives": "contradiction"}, "positive and hard negative"),
]


@pytest.mark.parametrize("method, changes, told", IMPOSSIBLE)
def test_what_a_system_cannot_do_is_one_sentence(small, method, changes, told):
    with pytest.raises(InputError, match=told):
        check(small(method=method, **changes))


# --- training ---
@pytest.mark.parametrize("method", MODELS)
def test_a_run_goes_on_as_if_unbroken(make, eager, method, tmp_path, monkeypatch):
    """With options that other tests leave alone; a NaN would differ from itself."""
    options = dict(precision="bf16", optimizer="transformers_adamw", warmup_steps=2)
    config = make(method, **options)
    whole = fit(config, bar=False)
    checkpoint = Checkpoint(tmp_path / "c.pt")

    def stop(trainer, *_):
        if trainer.progress.step == 5:  # the first one that is evaluated
            raise KeyboardInterrupt

    with monkeypatch.context() as once, pytest.raises(KeyboardInterrupt):
        once.setattr(trainer.Trainer, "evaluate_if_due", stop)
        fit(config, checkpoint, bar=False)
    resumed = fit(config, checkpoint, bar=False)
    a, b = (asdict(f.progress) | {"seconds": 0} for f in (whole, resumed))
    assert a == b and resumed.progress.step == 6
    vectors = resumed.encode(SENTENCES)
    assert vectors.dtype == np.float32
    for again in (whole, resumed):
        assert np.array_equal(vectors, again.encode(SENTENCES))


@pytest.mark.parametrize("method, fast", [*zip(TRAINED, repeat(True)), ("ct", False)])
def test_what_is_built_is_what_the_config_says(make, method, fast, monkeypatch):
    """Pooling, lengths, dropout, rates, steps and sentences of every system."""
    encoder = dict(pooling="mean", eval_max_length=20, dropout=0.2, fast=fast)
    training = dict(max_length=12, steps=2, lr=2e-4, weight_decay=0.01)
    config = make(method, **encoder, **training)
    trainers, widths = [], [0]
    real_trainer, real_words = trainer.Trainer.__init__, Encoder.words

    def init(self, *arguments, **options):
        real_trainer(self, *arguments, **options)
        trainers.append(self)

    def words(self, ids):
        if self.training:
            widths.append(ids.shape[1])
        return real_words(self, ids)

    monkeypatch.setattr(trainer.Trainer, "__init__", init)
    monkeypatch.setattr(Encoder, "words", words)
    fit(config, bar=False)
    (built,) = trainers
    encoder, groups = built.online.encoder, built.optimizer.param_groups
    assert encoder.pooling == "mean" and encoder.max_length == 20
    assert encoder.hidden_states is (fast_states if fast else plain_states)
    parts = encoder.model.modules()
    dropouts = {(type(m), m.p) for m in parts if isinstance(m, torch.nn.Dropout)}
    used = {(PackedDropout if fast else torch.nn.Dropout, 0.2)}
    assert dropouts == (set() if method == "s_simcse" else used)
    assert {group["initial_lr"] for group in groups} == {2e-4}
    assert {group["weight_decay"] for group in groups} == {0.0, 0.01}
    assert built.progress.step == 2
    assert max(widths) <= 12 and (max(widths) > 0) == (method != "flow")


@pytest.mark.parametrize("method", TRAINED)
def test_no_two_drawn_weights_start_alike(make, method):
    """Contrastive tension's second encoder is a copy by design."""
    sizes = dict(projection_layers=3, predictor_layers=3)
    config = make(method, encoder_init="random", **sizes)
    if method == "mocose":
        trained = sys.modules["mocose_lib.train"].MoCoSE
        online = trained(config, load_encoder(config, "cpu")).online
    else:
        online = built(SYSTEMS[method], config)
    named = (pair for pair in online.named_parameters() if pair[0][:6] != "other.")
    weights = {n: p.flatten() for n, p in named if p.ndim > 1 and p.any()}
    for a, b in combinations(weights, 2):
        n = min(len(weights[a]), len(weights[b]))
        assert not torch.equal(weights[a][:n], weights[b][:n]), f"{a} is {b}"
    assert len(weights) > 12


def test_an_encoder_that_starts_at_random_does_so_in_every_system(make):
    options = dict(encoder_init="random", lr=0.0, mlp="never", seed=1)
    options |= dict(word_deletion=0.0)
    expected = fit(make("untrained", **options)).encode(SENTENCES)
    for method in ("mocose", "simcse"):
        found = fit(make(method, mlm_weight=0.0, **options), bar=False)
        np.testing.assert_allclose(found.encode(SENTENCES), expected, atol=1e-5)
    for other in ({"seed": 2}, {"encoder_init": "pretrained"}):
        vectors = fit(make("untrained", **options | other)).encode(SENTENCES)
        assert vectors.shape == expected.shape
        assert not np.allclose(vectors, expected, atol=0.1)


def test_the_probe_looks_at_what_is_measured(small):
    """With its MLP at evaluation, SimCSE's geometry is that behind it."""
    config = small(method="simcse", mlp="always", selection="last", steps=2)
    fitted = fit(config, bar=False)
    shown = fitted.progress.history[-1].items()
    expected = probe.Probe(lambda x, **_: fitted.encode(x), config.benchmark)()
    found = {k: v for k, v in shown if k in expected}
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("scores, chosen", [((1.0, 2.0), 6), ((2.0, 1.0), 5)])
def test_vectors_of_the_last_step_serve_if_chosen(make, scores, chosen, monkeypatch):
    """They are those that the chosen weights give; an earlier step's are made anew."""
    config, given, real = make("simcse", selection="dev"), iter(scores), base.evaluate
    sentences = base.statistics_texts(config)

    def evaluate(*arguments):
        return real(*arguments) | {"average": next(given, 0.0)}

    monkeypatch.setattr(base, "evaluate", evaluate)
    fitted = fit(config, bar=False)
    expected = fitted.encoder.encode(sentences)
    calls, forward = [], Encoder.forward
    monkeypatch.setattr(Encoder, "forward", lambda *a: calls.append(a) or forward(*a))
    assert np.array_equal(fitted.encode(sentences), expected)
    assert fitted.progress.best_step == chosen
    assert bool(calls) == (chosen != config.steps)


def test_what_is_no_encoder_alone_is_not_saved(make):
    for mlp, whole in (("training", True), ("always", False)):
        fitted = fit(make("simcse", mlp=mlp, steps=1), bar=False)
        assert (fitted.encoder is not None) == whole
