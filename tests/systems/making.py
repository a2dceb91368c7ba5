"""Systems built from a Config, as a run builds them before it trains."""

from mocose_study.systems.base import load_encoder


def built(kind, config):
    encoder = load_encoder(config, "cpu", kind.encoder_kind)
    return kind(config, encoder, kind.inputs(config, encoder))
