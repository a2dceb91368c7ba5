"""What every trained system promises, tested on each: resumable, repeatable, as its Config says."""

import shutil
import sys
from dataclasses import asdict
from itertools import combinations

import numpy as np
import pytest
import torch
from making import built
from texts import articles, open_sentences

from mocose_lib import Encoder, trainer
from mocose_study.config import configure, vary
from mocose_study.config.config import SHORTENED, TWO_VIEWS
from mocose_study.data import benchmarks
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.fast import states as fast_states
from mocose_study.systems import METHODS, TRAINED, base, probe
from mocose_study.systems.base import load_encoder
from mocose_study.systems.simcse import SimCSE

SENTENCES = open_sentences(12, start=50)
OF_TRAINER = sorted({*TRAINED, "mocose"})


@pytest.fixture
def make(small, tmp_path):
    """Makes Configs of any system: with documents, and triplets, of open sentences."""
    corpus = articles(tmp_path / "articles.txt", 8, 30)
    sentences = open_sentences(240, start=300)
    rows = ["\t".join(sentences[i : i + 3]) for i in range(0, 240, 3)]
    (tmp_path / "nli.tsv").write_text(
        "\n".join(["sent0\tsent1\thard_neg", *rows]) + "\n"
    )

    def make(method, **changes):
        shortened = {"word_deletion": 0.1} if method in SHORTENED else {}
        shortened |= {"mlm_weight": 0.1} if method in TWO_VIEWS else {}
        files = dict(
            corpus=str(corpus), corpus_size=240, triplets=str(tmp_path / "nli.tsv")
        )
        sizes = dict(batch_size=8, eval_every=5)
        defaults = {**files, **sizes, **shortened, "selection": "last"}
        return small(method=method, **{**defaults, **changes})

    return make


def test_runs_share_a_tokenizer_and_its_test_sets_where_it_is_the_same(
    small, tiny, tmp_path
):
    first, second = (base.load_encoder(small(seed=seed), "cpu") for seed in (0, 1))
    assert first.tokenizer is second.tokenizer and first.model is not second.model
    cased = shutil.copytree(tiny, tmp_path / "cased")
    told = cased / "tokenizer_config.json"
    told.write_text(told.read_text().replace('lower_case": true', 'lower_case": false'))
    third = base.load_encoder(small(encoder=str(cased)), "cpu")
    assert (
        third.tokenize(["A DOG"])
        != first.tokenize(["A DOG"])
        == first.tokenize(["a dog"])
    )


@pytest.mark.parametrize("method", sorted(TRAINED))
def test_an_interrupted_run_ends_as_an_unbroken_one(
    make, eager, method, tmp_path, monkeypatch
):
    """With options that other tests leave alone; a NaN would differ from itself."""
    config = make(
        method, precision="bf16", optimizer="transformers_adamw", warmup_steps=2
    )
    whole = METHODS[method](config, bar=False)
    checkpoint = Checkpoint(tmp_path / "c.pt")

    def stop(trainer, *_):
        if trainer.progress.step == 5:  # the first one that is evaluated
            raise KeyboardInterrupt

    with monkeypatch.context() as once, pytest.raises(KeyboardInterrupt):
        once.setattr(trainer.Trainer, "evaluate_if_due", stop)
        METHODS[method](config, checkpoint, bar=False)
    resumed = METHODS[method](config, checkpoint, bar=False)
    a, b = (asdict(f.progress) | {"seconds": 0} for f in (whole, resumed))
    assert a == b and resumed.progress.step == 6
    found = resumed.encode(SENTENCES)
    assert np.array_equal(found, whole.encode(SENTENCES))
    assert (
        np.array_equal(found, resumed.encode(SENTENCES)) and found.dtype == np.float32
    )


@pytest.mark.parametrize(
    "method, fast", [*((m, True) for m in OF_TRAINER), ("simcse", False)]
)
def test_what_is_built_is_what_the_config_says(make, method, fast, monkeypatch):
    """Pooling, lengths, dropout, rates, steps and sentences of every system."""
    encoder = dict(pooling="mean", eval_max_length=20, dropout=0.2, fast=fast)
    training = dict(max_length=12, steps=2, lr=2e-4, head_lr=3e-4, weight_decay=0.01)
    config = make(method, **encoder, **training, batch_lengths="mixed")
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
    METHODS[method](config, bar=False)
    (built,) = trainers
    encoder, groups = built.online.encoder, built.optimizer.param_groups
    assert encoder.pooling == "mean" and encoder.max_length == 20
    assert (encoder.states is fast_states) == fast
    if method != "s_simcse":
        rates = {
            m.p for m in encoder.model.modules() if isinstance(m, torch.nn.Dropout)
        }
        assert rates == {0.2}
    assert {group["initial_lr"] for group in groups} == {2e-4, 3e-4}
    assert {group["weight_decay"] for group in groups} == {0.0, 0.01}
    assert built.progress.step == 2
    assert max(widths) <= 12 and (max(widths) == 0) == (
        method == "flow"
    )  # which reads vectors


@pytest.mark.parametrize("method", OF_TRAINER)
def test_no_two_drawn_weights_start_alike(make, method):
    """Contrastive tension's second encoder is a copy by design, as the second one of SimCSE is."""
    config = make(
        method, encoder_init="random", projection_layers=3, predictor_layers=3
    )
    if method == "mocose":
        online = (
            sys.modules["mocose_lib.train"]
            .MoCoSE(config, load_encoder(config, "cpu"))
            .online
        )
    else:
        online = built(TRAINED[method], config)
    named = {
        name: p
        for name, p in online.named_parameters()
        if not name.startswith("other.")
    }
    weights = {n: p.flatten() for n, p in named.items() if p.ndim > 1 and p.any()}
    for a, b in combinations(weights, 2):
        n = min(len(weights[a]), len(weights[b]))
        assert not torch.equal(weights[a][:n], weights[b][:n]), (
            f"{a} and {b} start alike"
        )
    assert len(weights) > 12


def test_an_encoder_that_starts_at_random_does_so_in_every_system(make):
    options = dict(
        encoder_init="random", lr=0.0, head_lr=0.0, word_deletion=0.0, mlp="never"
    )
    expected = METHODS["untrained"](make("untrained", **options)).encode(SENTENCES)
    for method in ("mocose", "simcse"):
        found = METHODS[method](make(method, mlm_weight=0.0, **options), bar=False)
        np.testing.assert_allclose(found.encode(SENTENCES), expected, atol=1e-5)


def test_the_probe_looks_at_what_is_measured(small, monkeypatch):
    """With its MLP at evaluation, SimCSE's geometry is that of the vectors behind it."""
    config = small(method="simcse", mlp="always", selection="last", steps=2)
    system = built(SimCSE, config)
    fitted = base.train_system(config, system, bar=False)
    assert fitted.encoder is None  # the encoder alone is not the system
    shown = {k: fitted.progress.history[-1][k] for k in ("alignment", "uniformity")}
    first, _, every = probe.sentences(config.benchmark)
    monkeypatch.setattr(probe, "PROBE_PAIRS", len(first))
    monkeypatch.setattr(probe, "PROBE_SENTENCES", len(every))
    exact = probe.Probe(system.encode, config.benchmark)()
    measured = probe.measure(fitted.encode, config.benchmark)
    for name, value in shown.items():
        assert exact[name] == pytest.approx(measured[f"{name} dev"], abs=1e-3)
        assert value == pytest.approx(exact[name], abs=0.3)  # a sample


def test_moco_is_mocose_without_predictor_and_fgsm():
    moco = configure("smoke", "moco")
    assert (
        moco.method == "mocose"
        and moco.predictor_layers == 0
        and moco.fgsm_epsilon == 0
    )
    assert vary(moco, predictor_layers=2) == configure("smoke")


@pytest.mark.parametrize("method", ["mocose", "simcse"])
@pytest.mark.parametrize("scores, chosen", [((1.0, 2.0), 6), ((2.0, 1.0), 5)])
def test_the_vectors_of_the_last_step_serve_where_it_was_chosen(
    make, method, scores, chosen, monkeypatch
):
    """They are those that the chosen weights give, to the last bit; an earlier step's are new."""
    config, given, real = make(method, selection="dev"), iter(scores), base.evaluate
    sentences = benchmarks.sentences(benchmarks.test_tables(config.benchmark))
    monkeypatch.setattr(
        base, "evaluate", lambda *a: real(*a) | {"average": next(given, 0.0)}
    )
    fitted = METHODS[method](config, bar=False)
    expected = fitted.encoder.encode(sentences)
    calls, forward = [], Encoder.forward
    monkeypatch.setattr(Encoder, "forward", lambda *a: calls.append(a) or forward(*a))
    assert np.array_equal(fitted.encode(sentences), expected)
    assert fitted.progress.best_step == chosen and bool(calls) == (
        chosen != config.steps
    )
