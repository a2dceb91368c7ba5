"""The systems of the papers' tables, all behind one function signature.

`METHODS[name](config, checkpoint, device, bar)` trains (or only loads) the system and returns a
`Fitted`; the caller measures it through `encode` alone, so that rows differ by method only.
"""

from . import (
    ct,
    declutr,
    flow,
    is_bert,
    moco,
    mocose,
    s_simcse,
    simcse,
    simcse_supervised,
    untrained,
    whitening,
    word_vectors,
)

METHODS = {
    "ct": ct.fit, "declutr": declutr.fit, "flow": flow.fit, "is_bert": is_bert.fit,
    "moco": moco.fit, "mocose": mocose.fit, "s_simcse": s_simcse.fit, "simcse": simcse.fit,
    "simcse_supervised": simcse_supervised.fit, "untrained": untrained.fit,
    "whitening": whitening.fit, "word_vectors": word_vectors.fit,
}  # fmt: skip
