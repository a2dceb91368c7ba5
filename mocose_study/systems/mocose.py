"""MoCoSE (Cao et al., Findings of ACL 2022), equations 1-3, Algorithm 1: `mocose_lib.train`."""

import torch

from mocose_lib import Encoder, train
from mocose_lib.augment import distorted
from mocose_lib.evaluation.sts import Encode
from mocose_study.config import Config
from mocose_study.fast.ranks import ranks

from .base import Evaluation, Fitted, TrainingText, load_encoder, training_ids
from .probe import Probe

inputs = training_ids


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    encoder = load_encoder(config, device)
    probe = Probe(encoder.encode, config.benchmark)
    evaluation = Evaluation(config, encode_as(config, encoder), probe)
    progress = train(
        encoder,
        TrainingText(config, training_ids(config, encoder, bar)),
        config,
        evaluate=evaluation,
        choose=config.selection != "last",
        probe=probe,
        checkpoint=checkpoint,
        bar=bar,
        ranks=ranks(),
    )
    return Fitted(evaluation.encode_chosen(progress), progress, encoder)


def encode_as(config: Config, encoder: Encoder) -> Encode:
    """The function that is scored.

    It is `encoder.encode`, or the same under shuffle and cut-offs where `augment_at_evaluation`
    repeats that defect of the published code.
    """
    if not config.augment_at_evaluation:
        return encoder.encode

    def encode(sentences):
        generator = torch.Generator().manual_seed(config.seed)
        return encoder.encode(
            sentences,
            distort=lambda words, mask: distorted(words, mask, config, generator),
        )

    return encode
