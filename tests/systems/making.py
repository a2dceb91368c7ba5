"""Systems built from a Config, as a run builds them before it trains."""

from mocose_study.systems.base import load_encoder

HEADER = ["sent0", "sent1", "hard_neg"]


def triplets(path, sentences):
    """A file of NLI triplets, each of three sentences."""
    parts = (sentences[i : i + 3] for i in range(0, len(sentences), 3))
    path.write_text("\n".join(map("\t".join, [HEADER, *parts])) + "\n")
    return path


def built(kind, config):
    encoder = load_encoder(config, "cpu", kind.encoder_kind)
    return kind(config, encoder, kind.inputs(config, encoder))
