"""Text-level augmentations (MoCoSE section 5.3, Table 5; SimCSE Table 1): a corpus, rewritten once.

The rewritten sentences lie in data/cache under a name made of all that decides what they are. All
seeds of a study share them: they belong to the data, as the corpus itself does. A run whose large
models are missing says so before it starts.
"""

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import datasets
import numpy as np
from tqdm.auto import tqdm

from mocose_lib import InputError
from mocose_study.config import Config
from mocose_study.data import corpora
from mocose_study.data.atomic import write_atomically
from mocose_study.data.encoders import digest, locate
from mocose_study.data.files import cache_folder
from mocose_study.data.sources import sha256

from . import contextual, generation, language_models, typos, word_edits

SHARD = 1_000  # sentences; a killed augmentation loses so many at most
Rewrite = Callable[[list[str], np.random.Generator], list[str]]

# The models of the paper's appendix A.1 (through nlpaug) and of its authors' code.
PUBLISHED = {
    "synonym": ("roberta-base",),
    "insertion": ("roberta-base",),
    "paraphrase": ("xlnet-base-cased",),
    "back_translation": ("facebook/wmt19-en-de", "facebook/wmt19-de-en"),
}
BY_MASKS = ("synonym", "insertion")
CODE = {  # what decides, beside models and rate, how a kind rewrites
    "typos": (typos, word_edits),
    "synonym": (contextual, word_edits),
    "insertion": (contextual, word_edits),
    "paraphrase": (generation,),
    "back_translation": (generation,),
}


def models_of(config: Config) -> tuple[str, ...]:
    """The models that `config` augments with: those it names, or the kind's default.

    The run's own encoder fills masks where it is a local one; otherwise the paper's model does.
    """
    kind = config.text_augmentation
    if kind in BY_MASKS and not config.augmentation_models and locate(config.encoder):
        return (config.encoder,)
    return config.augmentation_models or PUBLISHED.get(kind, ())


def make_rewrite(config: Config, device="cpu") -> Rewrite:
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


def cache_file(config: Config, corpus: datasets.Dataset, seed: int) -> Path:
    """Where `corpus` lies in rewritten form, or will."""
    kind = config.text_augmentation
    code = [sha256(Path(module.__file__)) for module in CODE[kind]]
    settings = (kind, config.augmentation_rate, seed)
    models = map(digest, models_of(config))
    key = corpora.cache_key("text", corpus._fingerprint, *settings, *code, *models)
    return cache_folder() / f"{key}.arrow"


def check(config: Config, corpus: datasets.Dataset) -> None:
    """Raises InputError when `corpus` has yet to be rewritten and a model for it is unusable."""
    if not all(cache_file(config, corpus, seed).exists() for seed in columns(config).values()):
        make_rewrite(config)


def augmented(
    config: Config, corpus: datasets.Dataset, seed: int, device="cpu", bar: bool = False
) -> datasets.Dataset:
    """`corpus` with every sentence rewritten; from the cache where it has been before.

    An interrupted call goes on behind its last whole shard. Raises InputError as `make_rewrite`.
    """
    path = cache_file(config, corpus, seed)
    shards = path.with_suffix("")
    loaded = functools.cache(lambda: make_rewrite(config, device))

    def rewrite(sentences: list[str], rows: list[int]) -> dict:
        shard = shards / f"{rows[0]}.json"
        if not shard.exists():
            rng = np.random.default_rng([int(path.stem, 16), rows[0]])
            found = json.dumps(loaded()(sentences, rng))
            write_atomically(shard, lambda part: part.write_text(found))
        shown.update(len(rows))
        return {"sentence": json.loads(shard.read_text())}

    batches = dict(batched=True, batch_size=SHARD, with_indices=True, input_columns="sentence")
    named = dict(new_fingerprint=path.stem, cache_file_name=str(path))
    hidden = path.exists() or not bar
    with tqdm(total=len(corpus), desc=config.text_augmentation, disable=hidden) as shown:
        result = corpus.map(rewrite, **batches, **named)
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
