"""Two processes train as one with the whole batch; gloo stands for several GPUs.

They run this file as a script: it trains in each of WAYS and saves the results.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mocose_lib import Encoder, InputError, Settings
from mocose_lib.model import View
from mocose_lib.train import MoCoSE
from mocose_lib.trainer import batches
from mocose_study.cli.run import Run
from mocose_study.fast.ranks import Ranks, ranks

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
PUBLISHED = dict(batch_negatives=True, shared_embeddings=True, detach_keys=False)
PUBLISHED |= dict(target_projection_trained=True, queue_growth="published")
PUBLISHED |= dict(ema_decay=(0.75, 1.0), ema_horizon=0.96)
PUBLISHED |= dict(fgsm_epsilon=1e-3, fgsm_gradient="stale")
WAYS = {
    "queue alone": {"batch_negatives": False},
    "batch negatives": {"batch_negatives": True},
    "published": PUBLISHED,
    "FGSM": {"fgsm_epsilon": 1e-3, "batch_negatives": True},
    "augmented": {"token_cutoff": 0.2, "feature_cutoff": 0.1, "position_shuffle": True},
    "latest keys": {"queue_keys": "latest"},
}
WORDS = "a man plays the guitar while two dogs run over a field in the morning".split()
SENTENCES = [" ".join(WORDS[i % 9 :][: 2 + i % 7]) for i in range(81)]


def trained(way: dict) -> dict:
    """Losses, queue and weights after some steps of MoCoSE."""
    sizes = {"steps": 4, "batch_size": 8, "queue_size": 24, "queue_init": 8}
    exact = {"head_dropout": 0.0, "fgsm_epsilon": 0.0, "lr": 1e-5}
    settings = Settings(**{**sizes, **exact, **way})
    encoder = Encoder.load(ROOT / "data/encoders/tiny", dropout=0.0).double()
    ids = encoder.tokenize(SENTENCES, settings.max_length)
    trainer, losses = MoCoSE(settings, encoder, ids), []
    trainer.ranks, rows = ranks(), batches(ids, settings)
    for step in range(1, settings.steps + 1):
        trainer.step(next(rows), step)
        losses.append(trainer.loss)
    parts = (*trainer.online.parameters(), *trainer.target.parameters())
    weights = torch.cat([p.detach().flatten() for p in parts])
    losses = torch.stack(losses)
    return {"losses": losses, "queue": trainer.queue.keys, "weights": weights}


def launched(*arguments):
    """What two processes, or one, say; they compute with one thread each."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    options = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, *map(str, arguments)], **options)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    for launch in ((), LAUNCH):
        launched(*launch, __file__, folder)
    return [torch.load(folder / f"{name}.pt") for name in ("1-0", "2-0", "2-1")]


@pytest.mark.parametrize("way", WAYS)
def test_two_processes_train_as_one(found, way):
    alone, first, second = (of[way] for of in found)
    torch.testing.assert_close(first["losses"], alone["losses"], rtol=1e-6, atol=1e-6)
    unit = [torch.nn.functional.normalize(x["queue"], dim=1) for x in (first, alone)]
    torch.testing.assert_close(*unit, rtol=0, atol=5e-6)
    # Adam divides a gradient by its own size, and enlarges rounding
    torch.testing.assert_close(first["weights"], alone["weights"], rtol=0, atol=1e-4)
    for name, value in first.items():
        assert torch.equal(value, second[name]), f"{name} differs between processes"


@pytest.mark.slow
def test_a_run_of_two_processes_writes_one_file(tmp_path):
    command = (Path(sys.executable).with_name("mocose"), "run", "--profile", "smoke")
    said = launched(*LAUNCH, *command, "--out", tmp_path / "runs")
    assert len(list((tmp_path / "runs").iterdir())) == 1 and said.count("sts_avg") == 1


def test_what_two_processes_cannot_do_is_one_sentence(small, view):
    with pytest.raises(InputError, match="simcse trains in one process"):
        Run(config=small(method="simcse")).check(processes=2)
    two, rows = object.__new__(Ranks), [0, 1, 1]
    two.rank, two.size = 0, 2
    with pytest.raises(InputError, match="batch_size = 3 cannot be split among 2 proc"):
        two.own(View(view.words[rows], view.mask[rows]))


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)  # FGSM's signs would enlarge rounding
    results = {name: trained(way) for name, way in WAYS.items()}
    torch.save(results, f"{sys.argv[1]}/{ranks().size}-{ranks().rank}.pt")
