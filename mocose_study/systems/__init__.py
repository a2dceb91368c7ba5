"""The systems of the papers' tables, all behind one function signature.

`METHODS[name](config, checkpoint, device, bar)` trains (or only loads) the system and returns a
`Fitted`. The caller measures it through `encode` alone, so that rows differ by method only.
`INPUTS[name](config, encoder, bar)` reads, checks and caches what that will train on.
"""

from functools import partial

from mocose_study.config import Config

from . import mocose, untrained, whitening, word_counts, word_vectors
from .base import fit
from .ct import ContrastiveTension
from .declutr import DeCLUTR
from .flow import Flow
from .is_bert import ISBert
from .s_simcse import SSimCSE
from .simcse import SimCSE
from .simcse_supervised import SupervisedSimCSE

TRAINED = {
    "ct": ContrastiveTension,
    "declutr": DeCLUTR,
    "flow": Flow,
    "is_bert": ISBert,
    "s_simcse": SSimCSE,
    "simcse": SimCSE,
    "simcse_supervised": SupervisedSimCSE,
}
OTHERS = {  # modules with `fit` and `inputs`
    "mocose": mocose,
    "untrained": untrained,
    "whitening": whitening,
    "word_counts": word_counts,
    "word_vectors": word_vectors,
}

METHODS = {name: partial(fit, kind) for name, kind in TRAINED.items()}
METHODS |= {name: module.fit for name, module in OTHERS.items()}
INPUTS = {name: kind.inputs for name, kind in (TRAINED | OTHERS).items()}


def saved_whole(config: Config) -> bool:
    """Whether a folder of an encoder's weights holds the system (`System.plain`)."""
    kind = TRAINED.get(config.method)
    return kind.plain(config) if kind else OTHERS[config.method] in (mocose, untrained)
