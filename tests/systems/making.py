"""Systems built from a Config, as a run builds them before it trains."""

import torch
from texts import open_sentences

from mocose_study.systems.base import load_encoder


def built(kind, config):
    torch.manual_seed(config.seed)
    encoder = load_encoder(config, "cpu", kind.encoder_kind)
    return kind(config, encoder, kind.inputs(config, encoder))


def generator():
    return torch.Generator().manual_seed(0)


def articles(path, documents, sentences):
    """A text file of so many documents of so many open sentences."""
    texts = open_sentences(documents * sentences, start=300)
    parts = (texts[i : i + sentences] for i in range(0, len(texts), sentences))
    path.write_text("\n\n".join(map("\n".join, parts)) + "\n")
    return path
