"""A corpus, rewritten once (MoCoSE section 5.3, Table 5; SimCSE Table 1).

`datasets` keeps the rewritten sentences in data/cache, under a name made of all that
decides them. All seeds of a study share them. A run without its models says so before
it starts.
"""

import functools

import datasets
import numpy as np
from tqdm.auto import tqdm

from mocose_lib import Encoder
from mocose_study.config import Config
from mocose_study.data import corpora
from mocose_study.data.encoders import fingerprint, models_of
from mocose_study.data.files import cache_folder
from mocose_study.data.sources import digest

from . import rewrite

VERSION = 2  # raise it whenever the code of a kind rewrites differently
SHARD = 1_000  # sentences; a killed augmentation loses so many at most


def make_rewrite(config: Config, device="cpu"):
    """The function of texts and generator that rewrites the texts.

    Raises InputError when one of its models is unusable.
    """
    kind, rate = config.text_augmentation, config.augmentation_rate
    if kind == "typos":
        return lambda texts, rng: rewrite.with_typos(texts, rate, rng)
    models = [rewrite.load(m, kind == "synonym", device) for m in models_of(config)]
    if kind == "synonym":
        words = rewrite.ContextualWords(*models[0])
        return lambda texts, rng: words.rewrite(texts, rate, rng)

    def answered(texts: list[str], rng: np.random.Generator) -> list[str]:
        for model in models:  # one paraphrases; two translate there and back
            texts = rewrite.answers(*model, texts, rng)
        return texts

    return answered


def key_of(config: Config, corpus: datasets.Dataset, seed: int) -> str:
    """The name of `corpus` in rewritten form: its key in the cache."""
    settings = (VERSION, config.text_augmentation, config.augmentation_rate, seed)
    models = map(fingerprint, models_of(config))
    return digest("text", corpus._fingerprint, *settings, *models)


def check(config: Config, corpus: datasets.Dataset) -> None:
    """Raises InputError when a model is unusable that has yet to rewrite `corpus`."""
    last = (len(corpus) - 1) // SHARD * SHARD
    keys = [key_of(config, corpus, seed) for seed in columns(config).values()]
    if not all((cache_folder() / f"{key}-{last}.arrow").exists() for key in keys):
        make_rewrite(config)


def augmented(
    config: Config, corpus: datasets.Dataset, seed: int, device="cpu", bar: bool = False
) -> datasets.Dataset:
    """`corpus` with every sentence rewritten; from the cache where it has been before.

    It goes on behind its last whole shard. Raises InputError as `make_rewrite`.
    """
    key = key_of(config, corpus, seed)
    loaded = functools.cache(lambda: make_rewrite(config, device))

    def shard(start: int) -> datasets.Dataset:
        def rewritten(texts: list[str]) -> dict:
            rng = np.random.default_rng([int(key, 16), start])
            return {"sentence": loaded()(texts, rng)}

        part = corpus.select(range(start, min(start + SHARD, len(corpus))))
        return corpora.mapped(f"{key}-{start}", part, rewritten, corpus.features)

    starts, kind = range(0, len(corpus), SHARD), config.text_augmentation
    progress = tqdm(starts, kind, unit_scale=SHARD, disable=not bar)
    return datasets.concatenate_datasets([shard(start) for start in progress])


def columns(config: Config) -> dict[str, int]:
    """The columns of the augmented views' token ids, with each rewriting's seed."""
    if config.text_augmentation == "none":
        return {}
    both = config.augmented_views == "both"
    return {"key_ids": 0, "query_ids": 1} if both else {"key_ids": 0}


def with_views(config: Config, corpus, ids, encoder: Encoder, bar: bool):
    """`ids` of the corpus, and beside them those of the rewritten views (`columns`)."""
    for name, seed in columns(config).items():
        other = augmented(config, corpus, seed, encoder.device, bar)
        view = corpora.tokenized(other, encoder.tokenizer, config.max_length)
        view = view.select_columns("input_ids").rename_column("input_ids", name)
        ids = datasets.concatenate_datasets([ids, view], axis=1)
    return ids


def views(batch: dict) -> tuple[list[list[int]], list[list[int]]]:
    """Token ids of query and keys: the rewritten ones where a view has some."""
    ids = batch["input_ids"]
    return batch.get("query_ids", ids), batch.get("key_ids", ids)
