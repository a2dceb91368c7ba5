"""Faster forms of what an encoder does; `accelerate` puts them into one.

Each gives what the plain form gives, up to the rounding of sums. Dropout draws other
random numbers from the same distribution. `Config.fast = False` leaves them out.
"""

import logging

from mocose_lib import encoder as plain

from . import first_token
from .dropout import PackedDropout, replace_dropout

log = logging.getLogger(__name__)


def accelerate(encoder: plain.Encoder) -> None:
    """Puts the faster forms into `encoder`, in place.

    An encoder that is not built as BERT keeps its plain pass, and the log says so.
    """
    replace_dropout(encoder.model, PackedDropout)
    if first_token.applies(encoder.model):
        encoder.states = states  # instead of `mocose_lib.encoder.states`
    else:
        kind = encoder.model.config.model_type
        log.warning("%s is not built as BERT: its plain, slower pass is used", kind)


def states(model, words, mask, positions, pooling: str):
    """What `mocose_lib.encoder.states` gives, with less work."""
    if pooling in plain.FIRST_TOKEN:
        return None, first_token.first_token(model, words, mask, positions)[:, None]
    return plain.states(model, words, mask, positions, pooling)
