"""Changes of token ids: crop, word deletion (SimCSE Table 1) and the masks of BERT."""

from collections.abc import Sequence

import numpy as np
import torch

from mocose_study.config import Config

Ids = list[list[int]]


def shortened(
    query: Ids, key: Ids, config: Config, generator: torch.Generator
) -> tuple[Ids, Ids]:
    """`crop` and `word_deletion` applied to the views that `augmented_views` names.

    [CLS] and [SEP] stay, and so does a sentence of one token.
    """

    def cut(sentences: Ids) -> Ids:
        for left, share in ((crop, config.crop), (delete, config.word_deletion)):
            sentences = [
                [ids[0], *left(ids[1:-1], share, generator), ids[-1]]
                if share and len(ids) > 3
                else ids
                for ids in sentences
            ]
        return sentences

    return cut(query) if config.augmented_views == "both" else query, cut(key)


def crop(ids: list[int], share: float, generator: torch.Generator) -> list[int]:
    """A random stretch of 1 - share of the tokens, at least one."""
    kept = max(1, round((1 - share) * len(ids)))
    start = int(torch.randint(len(ids) - kept + 1, (), generator=generator))
    return ids[start : start + kept]


def delete(ids: list[int], share: float, generator: torch.Generator) -> list[int]:
    """Leaves out max(1, floor(share n)) of n tokens."""
    order = torch.randperm(len(ids), generator=generator)
    kept = order[max(1, int(share * len(ids))) :].sort().values
    return [ids[i] for i in kept]


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
