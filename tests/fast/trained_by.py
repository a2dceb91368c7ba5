"""Trains MoCoSE for some steps in each of WAYS, and saves the result for test_ranks."""

import sys

import torch

from mocose_lib import Encoder, Settings
from mocose_lib.train import MoCoSE, train_step
from mocose_lib.trainer import batches
from mocose_study.fast.ranks import ranks

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


def trained(encoder: str, way: dict) -> dict:
    sizes = {"steps": 4, "batch_size": 8, "queue_size": 24, "queue_init": 8}
    exact = {"head_dropout": 0.0, "fgsm_epsilon": 0.0, "lr": 1e-5}
    settings = Settings(**{**sizes, **exact, **way})
    trainer = MoCoSE(settings, Encoder.load(encoder, dropout=0.0).double())
    trainer.ranks, losses = ranks(), []
    trainer.ids = trainer.scored.tokenize(SENTENCES, settings.max_length)
    rows = batches(trainer.ids, settings)
    for step in range(1, settings.steps + 1):
        train_step(trainer, *trainer.views(next(rows)), step)
        losses.append(trainer.loss)
    parts = (*trainer.online.parameters(), *trainer.target.parameters())
    weights = torch.cat([p.detach().flatten() for p in parts])
    losses = torch.stack(losses)
    return {"losses": losses, "queue": trainer.queue.keys, "weights": weights}


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)  # FGSM's signs would enlarge rounding
    encoder, folder = sys.argv[1:]
    found = {name: trained(encoder, way) for name, way in WAYS.items()}
    torch.save(found, f"{folder}/{ranks().size}-{ranks().rank}.pt")
