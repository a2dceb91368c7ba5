"""Changes of token ids: crop, word deletion (SimCSE Table 1) and the masks of BERT."""

from collections.abc import Sequence

import numpy as np
import torch

from mocose_study.config import Config

Ids = list[list[int]]


def shortened(
    query: Ids, key: Ids, config: Config, generator: torch.Generator
) -> tuple[Ids, Ids]:
    """`crop` and `word_deletion` applied to the views that `augmented_views` names."""

    def cut(sentences: Ids) -> Ids:
        cropped = [crop(ids, config.crop, generator) for ids in sentences]
        return [delete(ids, config.word_deletion, generator) for ids in cropped]

    return cut(query) if config.augmented_views == "both" else query, cut(key)


def crop(ids: list[int], share: float, generator: torch.Generator) -> list[int]:
    """A random stretch of 1 - share of the inner tokens, at least one."""
    length = len(ids) - 2
    if share == 0 or length < 2:
        return ids
    kept = max(1, round((1 - share) * length))
    start = 1 + int(torch.randint(length - kept + 1, (), generator=generator))
    return [ids[0], *ids[start : start + kept], ids[-1]]


def delete(ids: list[int], share: float, generator: torch.Generator) -> list[int]:
    """Leaves out max(1, floor(share n)) of the n tokens between [CLS] and [SEP]."""
    length = len(ids) - 2
    if share == 0 or length < 2:
        return ids
    order = torch.randperm(length, generator=generator)
    kept = order[max(1, int(share * length)) :].sort().values + 1
    return [ids[0], *(ids[i] for i in kept), ids[-1]]


def mask_tokens(
    ids: np.ndarray,
    special: Sequence[int],
    share: float,
    mask: int,
    words: tuple[int, int],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """(a copy of `ids` in which tokens are masked, the flat places of these tokens).

    floor(share n) of the n tokens that are not `special` are chosen. 80 % of them
    become the id `mask`, 10 % stay, and 10 % become a random id of the range `words`
    (Devlin et al. 2019, section 3.1).
    """
    masked = ids.flatten()
    ordinary = np.flatnonzero(~np.isin(masked, special))
    chosen = rng.permutation(ordinary)[: int(share * len(ordinary))]
    kind = rng.random(len(chosen))
    masked[chosen[kind < 0.8]] = mask
    other = chosen[kind >= 0.9]
    masked[other] = rng.integers(*words, len(other))
    return masked.reshape(ids.shape), chosen
