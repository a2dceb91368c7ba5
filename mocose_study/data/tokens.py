"""From sentences to token ids: the tokenizer's own, without the rest of what it can give."""

import json
import os
from collections.abc import Callable, Sequence

from tokenizers import Tokenizer

PARALLEL = "TOKENIZERS_PARALLELISM"


def settings_of(tokenizer) -> dict:
    """All that decides its token ids, without what its last call left over."""
    return json.loads(tokenizer.backend_tokenizer.to_str()) | {"truncation": None, "padding": None}


def token_ids(tokenizer, max_length: int | None) -> Callable[[Sequence[str]], list[list[int]]]:
    """The function from sentences to token ids.

    With `max_length` special tokens are added and long sentences cut; without, neither.
    """
    plain = Tokenizer.from_str(json.dumps(settings_of(tokenizer)))
    if max_length:
        plain.enable_truncation(max_length, direction=tokenizer.truncation_side)

    def ids(sentences: Sequence[str]) -> list[list[int]]:
        before = os.environ.pop(PARALLEL, None)  # it may use all cores, whatever the others may
        try:
            found = plain.encode_batch_fast(sentences, add_special_tokens=max_length is not None)
        finally:
            os.environ.update({PARALLEL: before} if before is not None else {})
        return [encoding.ids for encoding in found]

    return ids
