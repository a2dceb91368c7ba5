"""The systems of the papers' tables, all behind one function signature.

`METHODS[name](config, checkpoint, device, bar)` trains (or only loads) the system and returns a
`Fitted`; the caller measures it through `encode` alone, so that rows differ by method only.
`INPUTS[name](config, encoder, bar)` reads, checks and caches what that will train on.
"""

from mocose_study.systems import (
    ct,
    declutr,
    flow,
    is_bert,
    mocose,
    s_simcse,
    simcse,
    simcse_st,
    simcse_supervised,
    untrained,
    whitening,
    word_counts,
    word_vectors,
)
from mocose_study.systems.base import statistics_inputs, training_ids

METHODS = {
    "ct": ct.fit, "declutr": declutr.fit, "flow": flow.fit, "is_bert": is_bert.fit,
    "mocose": mocose.fit, "s_simcse": s_simcse.fit, "simcse": simcse.fit,
    "simcse_reference": simcse_st.fit, "simcse_supervised": simcse_supervised.fit,
    "untrained": untrained.fit, "whitening": whitening.fit, "word_counts": word_counts.fit,
    "word_vectors": word_vectors.fit,
}  # fmt: skip

INPUTS = {name: training_ids for name in METHODS} | {
    "declutr": declutr.inputs, "flow": statistics_inputs, "s_simcse": simcse.inputs,
    "simcse": simcse.inputs, "simcse_reference": simcse_st.inputs,
    "simcse_supervised": simcse_supervised.inputs, "untrained": untrained.inputs,
    "whitening": statistics_inputs, "word_counts": word_counts.inputs,
    "word_vectors": word_vectors.inputs,
}  # fmt: skip
