"""Twenty steps of the preset `code` against the authors' own code, as they published it.

It is no part of this repository, and needs an older transformers, so that two environment
variables say where they are:

- MOCOSE_AUTHORS: a checkout of github.com/xbdxwyh/mocose
- MOCOSE_AUTHORS_PYTHON: a Python 3.11 with torch, transformers 4.30, accelerate 0.20.3 and
  setuptools < 81

`authors_steps.py` runs there. Both sides start with equal weights and an equal queue, dropout is
off and all is in double precision.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import of_the_method
from texts import open_sentences

from mocose_lib import Encoder, Settings
from mocose_lib.batches import batches
from mocose_lib.train import MoCoSE, Text, train_step
from mocose_study.config.profiles import PRESETS

STEPS, RATE, LENGTH = 20, 1e-3, 16
SIZES = dict(steps=STEPS, batch_size=8, queue_size=40, queue_init=10, max_length=LENGTH)
SIZES |= dict(lr=RATE, head_lr=RATE, weight_decay=0.1, head_dropout=0.0, eval_every=STEPS)
OWN = dict(mlp_layers=2, proj_layers=1, token_drop_prob=0, feature_drop_prob=0)
OWN |= dict(token_shuffle=False, contextual_wordembs_aug=False, age_test=False)
OWN |= dict(neg_queue_slice_span=0)  # which only the test of ages reads
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
AUTHORS, PYTHON = (os.environ.get(f"MOCOSE_AUTHORS{end}") for end in ("", "_PYTHON"))
ABSENT = "set MOCOSE_AUTHORS to a checkout of the authors' code, and MOCOSE_AUTHORS_PYTHON to"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (AUTHORS and PYTHON), reason=f"{ABSENT} a Python with transformers 4"),
]


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def named_as_theirs(branch, target=False) -> dict:
    """Copies of a branch's parameters; the target's embeddings are the online branch's."""
    found = {}
    for name, value in branch.named_parameters():
        start = next(start for start in NAMES if name.startswith(start))
        theirs = NAMES[start] + name.removeprefix(start)
        if target and start == "encoder.model.embeddings.":
            continue
        if target:
            part, _, rest = theirs.removeprefix("online_").partition(".")
            theirs = f"target_{part}.model.{rest}"
        found[theirs] = value.detach().clone()
    return found


def ours_and_theirs(tiny, folder: Path, **changes) -> tuple[dict, dict]:
    """Losses, parameters and queue after STEPS steps of both, from one start."""
    settings = Settings(**{**of_the_method(PRESETS["code"]), **SIZES, **changes})
    encoder = Encoder.load(tiny, dropout=0.0).double()
    text = Text(encoder, open_sentences(64), settings)
    trainer, losses, ids, mask = MoCoSE(settings, encoder), [], [], []
    # what theirs starts from
    config = encoder.model.config.to_dict() | OWN
    config |= dict(K=settings.queue_size, K_start=settings.queue_init, out_size=encoder.width)
    config |= dict(ema_decay=settings.ema_decay, fgsm=settings.fgsm_epsilon)
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dtype", "torch_dtype"):
        config.pop(name, None)
    given = dict(config=config, rate=RATE, weight_decay=settings.weight_decay)
    given |= dict(weights=named_as_theirs(trainer.online), queue=trainer.queue.keys.clone())
    given |= dict(horizon=changes.get("ema_horizon"))
    # ours
    for number, rows in zip(range(1, STEPS + 1), batches(text.lengths, settings), strict=False):
        tokens = [text.ids[row] for row in rows]
        padded, real = encoder.pad(tokens)
        missing = (0, LENGTH - padded.shape[1])  # theirs have one length: the longest possible
        ids.append(torch.nn.functional.pad(padded, missing, value=encoder.tokenizer.pad_token_id))
        mask.append(torch.nn.functional.pad(real.long(), missing))
        train_step(trainer, tokens, tokens, number)
        losses.append(trainer.loss.item())
    parameters = named_as_theirs(trainer.online) | named_as_theirs(trainer.target, target=True)
    # theirs
    inputs, result = folder / "inputs.pt", folder / "result.pt"
    torch.save(given | dict(ids=torch.stack(ids), mask=torch.stack(mask)), inputs)
    script = Path(__file__).with_name("authors_steps.py")
    done = subprocess.run(
        [PYTHON, script, inputs, result], cwd=AUTHORS, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    ours = dict(losses=losses, parameters=parameters, queue=trainer.queue.keys)
    return ours, torch.load(result)


def distances(ours: dict, theirs: dict) -> dict[str, float]:
    """The largest difference in each of losses, queue and parameters."""
    assert ours["parameters"].keys() == theirs["parameters"].keys()
    pairs = {name: (ours[name], theirs[name]) for name in ("losses", "queue")}
    pairs |= {name: (p, theirs["parameters"][name]) for name, p in ours["parameters"].items()}
    wide = {name: [torch.as_tensor(side) for side in pair] for name, pair in pairs.items()}
    assert all(a.shape == b.shape and a.dtype == b.dtype for a, b in wide.values())
    return {name: (a - b).abs().max().item() for name, (a, b) in wide.items()}


@pytest.mark.parametrize(
    "changes",
    [
        dict(batch_lengths="one"),
        dict(batch_lengths="mixed", ema_horizon=12),  # so that the cosine turns back
    ],
    ids=["one length and their horizon", "padded, beyond the horizon"],
)
def test_twenty_steps_are_those_of_the_authors_code(tiny, tmp_path, double, changes):
    found = distances(*ours_and_theirs(tiny, tmp_path, **changes))
    print({name: f"{found[name]:.1e}" for name in sorted(found, key=found.get)[-6:]})
    assert max(found.values()) < 1e-10, found
