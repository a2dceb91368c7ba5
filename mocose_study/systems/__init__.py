"""The systems of the papers' tables, each with all of its facts in its own file.

A new one is a file with a subclass of `System` or of `Model`, named here. The caller
measures what `fit` gives through `encode` alone, so that rows differ by method only.
"""

from dataclasses import replace

from mocose_study.config import Config, InputError, choose
from mocose_study.data import contents

from .base import Fitted, System
from .ct import ContrastiveTension
from .declutr import DeCLUTR
from .flow import Flow
from .is_bert import ISBert
from .mocose import MoCoSE
from .s_simcse import SSimCSE
from .simcse import SimCSE
from .simcse_supervised import SupervisedSimCSE
from .untrained import Untrained
from .whitening import Whitening
from .word_vectors import WordVectors

KINDS = (MoCoSE, SimCSE, SupervisedSimCSE, SSimCSE, ContrastiveTension, DeCLUTR)
KINDS += (ISBert, Flow, Whitening, WordVectors, Untrained)
SYSTEMS = {kind.name: kind for kind in KINDS}

# Of the fields that a system may not have, those that are refused unless off.
SWITCHES = """position_shuffle token_cutoff feature_cutoff fgsm_epsilon crop
word_deletion text_augmentation positives same_mask two_encoders mlm_weight""".split()
OFF = {"text_augmentation": "none", "positives": "same"}  # of the others: 0 or False


def check(config: Config) -> type[System]:
    """The system of a Config. Raises InputError for what that cannot do."""
    system = choose(SYSTEMS, config.method, "method")
    for name in SWITCHES:
        value = getattr(config, name)
        off = OFF.get(name, type(value)())
        if value != off and name not in system.own:
            able = [other.name for other in SYSTEMS.values() if name in other.own]
            what = f"{system.name} has no {name}; set {name} = {off!r}"
            raise InputError(f"{what}, or method to one of {able}.")
    if config.pooling == "cls_pooler" and not system.pooler:
        what = f"would measure a layer that {system.name} does not train"
        raise InputError(f"pooling = 'cls_pooler' {what}; set pooling = 'cls'.")
    for sentence in system.contradictions(config):
        raise InputError(sentence)
    return system


def fit(config: Config, checkpoint=None, device: str = "cpu", bar=True) -> Fitted:
    """Trains (or only loads) the system of a Config. Raises InputError as `check`."""
    system = check(config)
    fitted = system.fit(config, checkpoint, device, bar)
    return fitted if system.saved_whole(config) else replace(fitted, encoder=None)


def draws(config: Config) -> bool:
    """Whether another seed gives other numbers."""
    system = choose(SYSTEMS, config.method, "method")
    random = config.encoder_init == "random"
    return system.draws or (random and "encoder" in system.reads)


def input_digests(config: Config) -> dict[str, str]:
    """`contents.digests` of all that the run of a Config reads.

    Raises InputError for a method that is no system.
    """
    system = choose(SYSTEMS, config.method, "method")
    return contents.digests(config, system.reads)
