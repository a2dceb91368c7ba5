"""MoCoSE (Cao et al. 2022), equations 1-3, Algorithm 1: `mocose_lib.train`."""

from functools import partial

import torch

from mocose_lib import Encoder
from mocose_lib.augment import distorted
from mocose_lib.evaluation.sts import Encode
from mocose_lib.train import MoCoSE as Trainer
from mocose_study.config import Config
from mocose_study.fast.ranks import ranks
from mocose_study.rewriting import text_augment

from . import staleness
from .base import Fitted, System, load_encoder, trained, training_ids

OWN = """batch_negatives queue_size queue_init queue_growth queue_keys negatives_slice
ema_decay ema_horizon shared_embeddings detach_keys
target_dropout target_projection_trained projection_layers predictor_layers
predictor_dim pooler_activation heads head_dropout fgsm_epsilon fgsm_gradient
position_shuffle token_cutoff feature_cutoff augment_at_evaluation text_augmentation
augmentation_models augmentation_rate augmented_views"""


class Training(Trainer):
    """MoCoSE with rewritten views, where asked, and with the queue's age measured."""

    def step(self, rows, step: int) -> None:
        super().step(rows, step)
        measured_at = [int(x * self.settings.steps) for x in staleness.MEASURED_AT]
        if self.settings.queue_size and step in measured_at:
            self.progress.staleness.append({"step": step, **staleness.measure(self)})

    def views(self, rows):
        return text_augment.views(self.ids[rows])


def encode_as(config: Config, encoder: Encoder) -> Encode:
    """The function that is scored: `encoder.encode`.

    `augment_at_evaluation` adds shuffle and cut-offs, as the published code does.
    """
    if not config.augment_at_evaluation:
        return encoder.encode

    def encode(sentences):
        own = {"generator": torch.Generator().manual_seed(config.seed)}
        distort = partial(distorted, settings=config, **own)
        return encoder.encode(sentences, distort=distort)

    return encode


class MoCoSE(System):
    name, label, colour = "mocose", "MoCoSE", "#0072B2"
    reads, own = ("encoder", "corpus", "augmentation_models"), tuple(OWN.split())
    draws, pooler = True, True
    saved_whole = staticmethod(lambda config: True)
    inputs = staticmethod(training_ids)

    @staticmethod
    def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
        encoder = load_encoder(config, device)
        trainer = Training(config, encoder, training_ids(config, encoder, bar))
        trainer.ranks = ranks()
        encoders = encoder, encode_as(config, encoder), encoder.encode
        return trained(config, trainer, trainer.ids, *encoders, checkpoint, bar)
