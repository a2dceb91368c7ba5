"""Text-level augmentations (MoCoSE section 5.3, Table 5; SimCSE Table 1): a corpus, rewritten once.

The rewritten sentences lie in data/cache under a name made of all that decides what they are. All
seeds of a study share them: they belong to the data, as the corpus itself does. A run whose large
models are missing says so before it starts.
"""

import functools
import json
import shutil
from collections.abc import Callable, Iterator
from types import MappingProxyType

import datasets
import numpy as np
from filelock import FileLock
from tqdm.auto import tqdm

from mocose_lib import InputError
from mocose_study.config import Config, read_toml
from mocose_study.data import corpora
from mocose_study.data.atomic import write_atomically
from mocose_study.data.encoders import digest, locate
from mocose_study.data.files import cache_folder

from . import contextual, generation, language_models, typos

SHARD = 1_000  # sentences; a killed augmentation loses so many at most
KINDS = MappingProxyType(read_toml(__package__, "kinds"))
BY_MASKS = ("synonym", "insertion")


def models_of(config: Config) -> tuple[str, ...]:
    """Those that `config` names; else, to fill masks, a local encoder of the run; else the paper's."""
    kind = config.text_augmentation
    if kind in BY_MASKS and not config.augmentation_models and locate(config.encoder):
        return (config.encoder,)
    return config.augmentation_models or tuple(KINDS[kind]["models"])


def make_rewrite(config: Config, device="cpu") -> Callable[[list[str], np.random.Generator], list]:
    """The function that rewrites texts. Raises InputError when one of its models is unusable."""
    kind, rate = config.text_augmentation, config.augmentation_rate
    if kind == "typos":
        return lambda texts, rng: typos.with_typos(texts, rate, rng)
    models = [language_models.load(m, device, kind in BY_MASKS) for m in models_of(config)]
    if kind in BY_MASKS:
        words = contextual.ContextualWords(*models)
        return lambda texts, rng: words.rewrite(texts, rate, rng, insert=kind == "insertion")
    if kind == "paraphrase":
        return functools.partial(generation.paraphrased, *models)
    for name, model in zip(models_of(config), models, strict=True):
        if not model.seq2seq:
            raise InputError(f"{name!r} is no sequence-to-sequence model, which translates.")
    return functools.partial(generation.translated_back, *models)


def key_of(config: Config, corpus: datasets.Dataset, seed: int) -> str:
    """The name of `corpus` in rewritten form: its key in the cache."""
    kind = config.text_augmentation
    settings = (kind, config.augmentation_rate, seed, *KINDS[kind]["version"])
    models = map(digest, models_of(config))
    return corpora.cache_key("text", corpus._fingerprint, *settings, *models)


def check(config: Config, corpus: datasets.Dataset) -> None:
    """Raises InputError when `corpus` has yet to be rewritten and a model for it is unusable."""
    keys = [key_of(config, corpus, seed) for seed in columns(config).values()]
    if not all(any(cache_folder().glob(f"{key}.*.arrow")) for key in keys):
        make_rewrite(config)


def augmented(
    config: Config, corpus: datasets.Dataset, seed: int, device="cpu", bar: bool = False
) -> datasets.Dataset:
    """`corpus` with every sentence rewritten; from the cache where it has been before.

    An interrupted call goes on behind its last whole shard. Raises InputError as `make_rewrite`.
    """
    key = key_of(config, corpus, seed)
    shards = cache_folder() / key
    loaded = functools.cache(lambda: make_rewrite(config, device))

    def batches() -> Iterator[dict]:
        starts = range(0, len(corpus), SHARD)
        for start in tqdm(starts, config.text_augmentation, unit_scale=SHARD, disable=not bar):
            batch = corpus[start : start + SHARD]
            shard = shards / f"{start}.json"
            if not shard.exists():
                rng = np.random.default_rng([int(key, 16), start])
                found = json.dumps(loaded()(batch["sentence"], rng))
                write_atomically(shard, lambda part, text=found: part.write_text(text))
            yield batch | {"sentence": json.loads(shard.read_text())}

    with FileLock(cache_folder() / f"{key}.lock"):  # another process may rewrite it, too
        result = corpora.stored(key, batches)
        shutil.rmtree(shards, ignore_errors=True)
    return result


def columns(config: Config) -> dict[str, int]:
    """The columns of the augmented views' token ids, with the seed of each rewriting."""
    if config.text_augmentation == "none":
        return {}
    return {"key_ids": 0} | ({"query_ids": 1} if config.augmented_views == "both" else {})


def with_views(
    config: Config, corpus: datasets.Dataset, ids: datasets.Dataset, tokenizer, device, bar: bool
) -> datasets.Dataset:
    """`ids` of the corpus, and beside them those of the rewritten views (`columns`)."""
    for name, seed in columns(config).items():
        other = augmented(config, corpus, seed, device, bar)
        view = corpora.tokenized(other, tokenizer, config.max_length).select_columns("input_ids")
        ids = datasets.concatenate_datasets([ids, view.rename_column("input_ids", name)], axis=1)
    return ids


def views(batch: dict) -> tuple[list[list[int]], list[list[int]]]:
    """Token ids of query and keys: the rewritten ones where a view has some."""
    ids = batch["input_ids"]
    return batch.get("query_ids", ids), batch.get("key_ids", ids)
