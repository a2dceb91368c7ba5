"""The Config of a run: every number that can change a result, and its default.

A Config is the experiment. Two that differ in a field have different run ids. What
cannot change a result (device, workers, progress bars) is no field. Presets and
profiles, which change many fields at once, stand in `profiles.py`.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Annotated, Any, Literal

from mocose_lib.settings import InputError, Positive, Range, Settings, Share, canonical

MODELS = {  # of text augmentations: the paper's (A.1), but for paraphrases not XLNet
    "none": (),
    "typos": (),
    "synonym": ("FacebookAI/roberta-base",),
    "paraphrase": ("tuner007/pegasus_paraphrase",),
    "back_translation": ("facebook/wmt19-en-de", "facebook/wmt19-de-en"),
}
Weight = Annotated[float, Range(0, 100)]  # of a term of a loss
Positives = Literal["same", "next_sentence", "next_three", "contradiction"]


@dataclass(frozen=True)
class Config(Settings):
    """One run: what is trained, on what, how, and how its weights are chosen.

    The method's own numbers are those of `mocose_lib.Settings`. Raises InputError for
    impossible values.
    """

    # what is trained, and what it is measured on
    method: str = "mocose"  # a system, see `mocose list systems`
    encoder: str = "tiny"  # a folder under data/encoders, a path, or a hub name
    encoder_init: Literal["pretrained", "random"] = "pretrained"
    corpus: str = "open"  # a name in CORPORA, or a text file
    corpus_size: Annotated[int, Range(2, 10**9)] = 40_000  # sentences
    benchmark: str = "open"  # open, real, sample (a part of open), or "a.tsv,b.tsv"
    dev: str = ""  # a file of pairs that choose, in place of the benchmark's
    pooling: Literal["cls", "cls_pooler", "mean", "first_last"] = "cls"
    dropout: Share = 0.1
    fast: bool = True  # the faster forms of `fast/`, with other random numbers

    # evaluation and choice of the checkpoint
    selection: Literal["dev", "test", "last"] = "dev"
    eval_max_length: Annotated[int, Range(4, 100_000)] = 128  # tokens
    transfer: bool = False  # measure the transfer tasks, too

    # views
    crop: Share = 0.0  # tokens cut away at the two ends of a sentence
    word_deletion: Share = 0.0  # tokens left out, at least one
    text_augmentation: Literal[*MODELS] = "none"
    augmentation_models: tuple[str, ...] = ()  # (): those of encoders.models_of
    augmentation_rate: Annotated[float, Range(0.001, 1)] = 0.1  # of words, one or more
    augmented_views: Literal["target", "both"] = "both"  # rewritten or shortened
    augment_at_evaluation: bool = False  # shuffle and cut-offs while scoring, too

    # other systems (systems/)
    statistics: Literal["task", "corpus"] = "task"  # whitening, flow: what they see
    kept_dimensions: Positive | None = None  # whitening; None: all that vary
    vectors: str = "glove/glove.6B.50d.subset.txt.xz"  # a path, or a file of the data
    mlp: Literal["training", "always", "never"] = "training"  # SimCSE's head
    positives: Positives = "same"  # SimCSE; "contradiction": the supervised one alone
    two_encoders: bool = False  # SimCSE: each view has one
    same_mask: bool = False  # SimCSE: both views have one dropout mask
    mlm_weight: Weight = 0.0  # SimCSE: of the auxiliary masked-word loss
    dropout_low: Share = 0.0  # S-SimCSE: rates come from U(dropout_low, dropout_high)
    dropout_high: Share = 0.2
    sentence_dropout: bool = True  # S-SimCSE: each sentence draws its own rates
    triplets: str = "nli/nli_triplets_small.tsv"  # supervised SimCSE; or a hub name
    hard_negatives: bool = True  # supervised SimCSE: contradictions are negatives
    hard_negative_weight: Weight = 1.0  # supervised SimCSE: α of a contradiction

    def contradictions(self):
        """What contradicts itself for every system; each has more, see `systems`."""
        yield from super().contradictions()
        if self.batch_size > self.corpus_size:
            what = f"corpus_size = {self.corpus_size}"
            yield f"batch_size = {self.batch_size} is larger than {what}."
        needed = len(MODELS[self.text_augmentation])
        if len(self.augmentation_models) not in (0, needed):
            what = f"text_augmentation = {self.text_augmentation!r} needs {needed}"
            yield f"augmentation_models = {self.augmentation_models}, but {what}."

    def identity(self) -> str:
        """The canonical text that names a run, the same for equal configs."""
        return json.dumps(asdict(self), sort_keys=True)


FIELDS = {field.name: field for field in fields(Config)}


def read_toml(package: str, name: str) -> dict:
    """What <name>.toml beside a package's code holds."""
    return tomllib.loads((files(package) / f"{name}.toml").read_text(encoding="utf-8"))


def known(values: Mapping) -> dict[str, Any]:
    """The values of fields, as `canonical` has them.

    Raises InputError for a name that is no field, with the nearest one that is.
    """
    for name in (name for name in values if name not in FIELDS):
        near, others = get_close_matches(str(name), FIELDS, 1), ", ".join(FIELDS)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {others}."
        raise InputError(f"Config has no field {name!r}; {hint}")
    return canonical(values)


def choose(table: Mapping, name: str, what: str):
    """table[name]. Raises InputError naming what there is when `name` is not in it."""
    if not isinstance(name, str) or name not in table:
        known = ", ".join(table)
        raise InputError(f"there is no {what} {name!r}; choose one of {known}.")
    return table[name]


def vary(config: Config, **changes) -> Config:
    """A copy of `config` with some fields changed, validated."""
    return replace(config, **known(changes))
