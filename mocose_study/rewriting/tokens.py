"""Augmentations of the token ids: crop and word deletion (SimCSE Table 1), of word pieces."""

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
    """A random stretch of 1 - share of the tokens between [CLS] and [SEP], at least one token."""
    length = len(ids) - 2
    if share == 0 or length < 2:
        return ids
    kept = max(1, round((1 - share) * length))
    start = 1 + int(torch.randint(length - kept + 1, (), generator=generator))
    return [ids[0], *ids[start : start + kept], ids[-1]]


def delete(ids: list[int], share: float, generator: torch.Generator) -> list[int]:
    """Leaves out max(1, floor(share n)) random ones of the n tokens between [CLS] and [SEP]."""
    length = len(ids) - 2
    if share == 0 or length < 2:
        return ids
    kept = torch.randperm(length, generator=generator)[max(1, int(share * length)) :] + 1
    return [ids[0], *(ids[i] for i in kept.sort().values), ids[-1]]
