"""The study around `mocose_lib`: configs, data, systems, claims, runs, results."""

import logging

# `Encoder.load` refuses incomplete weights; the table of transformers alarms for a
# missing pooler.
logging.getLogger("transformers.modeling_utils").addFilter(
    lambda record: "LOAD REPORT" not in str(record.msg)
)
