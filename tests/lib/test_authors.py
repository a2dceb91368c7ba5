"""The preset `code` against the authors' own code as they published it: steps, scores.

That is no part of this repository, and needs an older transformers. Two environment
variables say where both are:

- MOCOSE_AUTHORS: a checkout of github.com/xbdxwyh/mocose
- MOCOSE_AUTHORS_PYTHON: a Python 3.11 after `pip install torch 'transformers==4.30.*'
  accelerate==0.20.3 'setuptools<81'`

`authors_steps.py` runs there. Both sides start with equal weights and an equal queue.
In the twenty steps dropout is off and all is in double precision. Theirs pads each
batch to one length, ours to its longest sentence. Their moving average turns back after
15,000 steps; a shorter horizon shows that, too. The scores take about 15 minutes.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import of_the_method
from scipy.stats import ttest_ind
from texts import ROOT, open_sentences

from mocose_lib import Encoder, Settings, evaluate
from mocose_lib.train import MoCoSE, train_step
from mocose_lib.trainer import batches
from mocose_study.config.profiles import PRESETS
from mocose_study.data import benchmarks
from mocose_study.data.corpora import load_corpus

STEPS, RATE, LENGTH = 20, 1e-3, 16
SIZES = dict(steps=STEPS, batch_size=8, queue_size=40, queue_init=10, max_length=LENGTH)
SIZES |= dict(lr=RATE, weight_decay=0.1, head_dropout=0.0)
OWN = dict(mlp_layers=2, proj_layers=1, token_drop_prob=0, feature_drop_prob=0)
OWN |= dict(token_shuffle=False, contextual_wordembs_aug=False, age_test=False)
OWN |= dict(neg_queue_slice_span=0)  # read only where age_test is True
NAMES = {  # ours: theirs
    "encoder.model.embeddings.": "online_embeddings.",
    "encoder.model.encoder.": "online_encoder.",
    "encoder.pooler.": "online_pooler.dense.",
    "projection.0.": "online_projection.dense.",
    "projection.1.": "online_projection.LayerNorm.",
    "predictor.0.": "prodiction.mlp.mlp_0.",
    "predictor.1.": "prodiction.mlp.layer_norm_0.",
    "predictor.3.": "prodiction.dense.",
}
WORDS = "online_embeddings.word_embeddings.weight"
AUTHORS, PYTHON = map(os.environ.get, ("MOCOSE_AUTHORS", "MOCOSE_AUTHORS_PYTHON"))
NEEDED = "set MOCOSE_AUTHORS and MOCOSE_AUTHORS_PYTHON, as told at the top"
there = pytest.mark.skipif(not (AUTHORS and PYTHON), reason=NEEDED)
pytestmark = [pytest.mark.slow, there]


def theirs_of(name: str) -> str:
    """Their name of a parameter of the online branch."""
    start = next(start for start in NAMES if name.startswith(start))
    return NAMES[start] + name.removeprefix(start)


def as_theirs(branch) -> dict:
    """Copies of the parameters of a branch, by the names of their online branch."""
    own = branch.named_parameters()
    return {theirs_of(name): value.detach().clone() for name, value in own}


def parameters_of(trainer: MoCoSE) -> dict:
    """Those of both branches; they share the embeddings."""
    found = as_theirs(trainer.online)
    for name, value in as_theirs(trainer.target).items():
        part, _, rest = name.removeprefix("online_").partition(".")
        if part != "embeddings":
            found[f"target_{part}.model.{rest}"] = value
    return found


def start_of(trainer: MoCoSE) -> dict:
    """What `authors_steps.py` is given, but for the sentences."""
    s, encoder = trainer.settings, trainer.scored
    config = encoder.model.config.to_dict() | OWN
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dtype"):
        config.pop(name)
    config |= dict(K=s.queue_size, K_start=s.random_keys, out_size=encoder.width)
    config |= dict(ema_decay=s.decays[0], fgsm=s.fgsm_epsilon)
    weights, queue = as_theirs(trainer.online), trainer.queue.keys.clone()
    more = dict(rate=s.lr, weight_decay=s.weight_decay, horizon=s.ema_horizon * s.steps)
    more |= dict(dropout=encoder.dropout, seed=s.seed, dtype=weights[WORDS].dtype)
    return dict(config=config, weights=weights, queue=queue, **more)


def trained_by_both(encoder: Encoder, sentences, settings: Settings, folder: Path):
    """Our trainer after all steps, its losses, and what the authors' code comes to."""
    tokenized = encoder.tokenize(sentences, settings.max_length)
    trainer, losses, ids, mask = MoCoSE(settings, encoder), [], [], []
    given, order = start_of(trainer), batches(tokenized, settings)
    assert encoder.tokenizer.pad_token_id == 0
    for number in range(1, settings.steps + 1):
        tokens = [tokenized[row] for row in next(order)]
        for side, padded in zip((ids, mask), encoder.pad(tokens), strict=True):
            right = (0, settings.max_length - padded.shape[1])
            side.append(torch.nn.functional.pad(padded.long(), right))
        train_step(trainer, tokens, tokens, number)
        losses.append(trainer.loss.item())
    given |= dict(ids=torch.stack(ids), mask=torch.stack(mask))
    inputs, result = folder / "inputs.pt", folder / "result.pt"
    torch.save(given, inputs)
    script = Path(__file__).with_name("authors_steps.py")
    command = [Path(PYTHON).absolute(), script, inputs, result]
    done = subprocess.run(command, cwd=AUTHORS, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return trainer, losses, torch.load(result)


def distances(trainer: MoCoSE, losses: list[float], theirs: dict) -> dict[str, float]:
    """The largest difference in the losses, the queue and each parameter."""
    ours = {**parameters_of(trainer), "losses": losses, "queue": trainer.queue.keys}
    theirs = {**theirs.pop("parameters"), **theirs}
    assert ours.keys() == theirs.keys()
    found = {}
    for name, value in ours.items():
        a, b = torch.as_tensor(value), torch.as_tensor(theirs[name])
        assert a.shape == b.shape and a.dtype == b.dtype == torch.float64
        found[name] = (a - b).abs().max().item()
    return found


@pytest.mark.parametrize("horizon", [15_000, 12])  # theirs, and one that turns back
def test_twenty_steps_are_those_of_the_authors_code(tiny, tmp_path, double, horizon):
    method = {**of_the_method(PRESETS["code"]), **SIZES}
    settings = Settings(**method | {"ema_horizon": horizon / STEPS})
    encoder = Encoder.load(tiny, dropout=0.0).double()
    both = trained_by_both(encoder, open_sentences(64), settings, tmp_path)
    found = distances(*both)
    largest = max(found, key=found.get)
    print({name: found[name] for name in ("losses", "queue", largest)})
    assert found[largest] < 1e-10, found


def test_scores_are_those_of_the_authors_code(real_data, tmp_path):
    """500 steps from `tiny`, four seeds. Each side drops activations of its own."""
    sentences = load_corpus("wiki900k", 32_000)["sentence"][:]
    tables = benchmarks.test_tables("real")
    method = of_the_method(PRESETS["code"]) | {"lr": RATE, "steps": 500}
    method |= {"ema_horizon": 30}  # 15,000 steps
    found = []
    for seed in range(4):
        encoder = Encoder.load(ROOT / "data/encoders/tiny")
        settings = Settings(**method, seed=seed)
        _, losses, theirs = trained_by_both(encoder, sentences, settings, tmp_path)
        ours = evaluate(encoder.encode, tables)["average"]
        for name, value in encoder.named_parameters():
            value.data.copy_(theirs["parameters"][theirs_of(f"encoder.{name}")])
        last = [np.mean(losses[-50:]), theirs["losses"][-50:].mean().item()]
        found.append([[ours, evaluate(encoder.encode, tables)["average"]], last])
        print(f"seed {seed}: ours, authors' {found[-1][0]}, losses {last}")
    for ours, authors in np.array(found).transpose(1, 2, 0):  # scores, then losses
        print(*[(x.mean().round(2), x.std(ddof=1).round(2)) for x in (ours, authors)])
        apart = ttest_ind(ours, authors, equal_var=False).confidence_interval()
        assert apart.low < 0 < apart.high
