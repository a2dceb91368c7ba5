"""What every trained system promises, tested on each: resumable, repeatable, fit for bf16."""

from dataclasses import asdict

import numpy as np
import pytest

from mocose_lib import learner
from mocose_study.systems import probe
from mocose_lib.evaluation import sts
from mocose_study.data import world
from mocose_study.config.checks import SHORTENED
from mocose_study.config import vary
from mocose_study.systems import METHODS

SENTENCES = world.sentences(12, seed=5)
OTHERWISE = {  # not by train_system
    "untrained", "whitening", "word_counts", "word_vectors", "mocose", "moco", "simcse_reference",
}  # fmt: skip


@pytest.fixture
def texts(tmp_path):
    """Documents, and triplets, of generated sentences."""
    sentences = world.sentences(240, seed=3)
    parts = ["\n".join(sentences[i : i + 30]) for i in range(0, 240, 30)]
    (tmp_path / "articles.txt").write_text("\n\n".join(parts) + "\n")
    rows = ["\t".join(sentences[i : i + 3]) for i in range(0, 240, 3)]
    (tmp_path / "nli.tsv").write_text("\n".join(["sent0\tsent1\thard_neg", *rows]) + "\n")
    return tmp_path


@pytest.fixture(params=sorted(set(METHODS) - OTHERWISE))
def config(request, small, texts):
    shortened = {"word_deletion": 0.1} if request.param in SHORTENED else {}
    return small(
        method=request.param, corpus=str(texts / "articles.txt"), corpus_size=240, batch_size=8,
        triplets=str(texts / "nli.tsv"), span_min=4, flow_steps=2, mlm_weight=0.1,
        eval_every=5, selection="last", **shortened,
    )  # fmt: skip


def interrupt(monkeypatch, step):
    """Saves after every step, and stops at the first scoring after `step`, once."""
    real, left = learner.examine, [step]

    def examine(t):
        if left and t.progress.step > left[0]:
            left.clear()
            raise KeyboardInterrupt
        real(t)

    monkeypatch.setattr(learner, "SAVE_SECONDS", -1)
    monkeypatch.setattr(learner, "examine", examine)


def test_an_interrupted_run_ends_as_an_unbroken_one(config, tmp_path, monkeypatch):
    whole = METHODS[config.method](config, bar=False)
    interrupt(monkeypatch, 4)
    checkpoint = tmp_path / "c.pt"
    with pytest.raises(KeyboardInterrupt):
        METHODS[config.method](config, checkpoint, bar=False)
    resumed = METHODS[config.method](config, checkpoint, bar=False)
    a, b = (asdict(f.progress) | {"seconds": 0} for f in (whole, resumed))
    assert a == b and resumed.progress.step == 6
    found = resumed.encode(SENTENCES)
    assert np.array_equal(found, whole.encode(SENTENCES))
    assert np.array_equal(found, resumed.encode(SENTENCES)) and found.dtype == np.float32


def test_the_probe_looks_at_what_is_measured(small, monkeypatch):
    """With its MLP at evaluation, SimCSE's geometry is that of the vectors behind it."""
    config = small(method="simcse", mlp="always", selection="last", steps=2)
    fitted = METHODS["simcse"](config, bar=False)
    shown = {k: fitted.progress.history[-1][k] for k in ("alignment", "uniformity")}
    first, _, every = probe.sentences(config.benchmark)
    monkeypatch.setattr(probe, "PROBE_PAIRS", len(first))
    monkeypatch.setattr(probe, "PROBE_SENTENCES", len(every))
    exact = probe.Probe(fitted.encode.__self__, config.benchmark)()
    measured = probe.measure(fitted.encode, config.benchmark)
    for name, value in shown.items():
        assert exact[name] == pytest.approx(measured[f"{name} dev"], abs=1e-3)
        assert value == pytest.approx(exact[name], abs=0.3)  # a sample


def test_bf16_and_rare_options_give_finite_scores(config):
    options = dict(precision="bf16", optimizer="adam", freeze_steps=2, warmup_steps=2)
    other = vary(config, **options)
    fitted = METHODS[config.method](other, bar=False)
    assert np.isfinite(sts.dev_score(fitted.encode, config.benchmark))
    assert all(np.isfinite(row["loss"]) for row in fitted.progress.history)
