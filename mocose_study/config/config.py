"""The Config of a run: every number that can change a result, with the study's own defaults.

A Config is the experiment. Two that differ in a field have different run ids. What
cannot change a result (device, workers, progress bars) is no field. Presets and
profiles, which change many fields at once, stand in `profiles.py`.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Annotated, Any, Literal

from mocose_lib.settings import InputError, Positive, Range, Settings, Share

POOLER_UNUSED = (
    "simcse",
    "s_simcse",
    "simcse_supervised",
    "ct",
    "flow",
    "is_bert",
    "declutr",
)
VIEWS_DISTORTED = ("mocose",)  # by position shuffle and cut-offs
TEXT_AUGMENTED = ("mocose", "simcse")
SHORTENED = (*TEXT_AUGMENTED, "s_simcse")  # by crop and word deletion
TWO_VIEWS = ("simcse", "s_simcse", "simcse_supervised")
MODELS_NEEDED = {"synonym": 1, "insertion": 1, "paraphrase": 1, "back_translation": 2}
TextAugmentation = Literal[
    "none", "typos", "synonym", "insertion", "paraphrase", "back_translation"
]
Weight = Annotated[float, Range(0, 100)]  # of a term of a loss


@dataclass(frozen=True)
class Config(Settings):
    """One run: what is trained, on what, how, and how its weights are chosen.

    The method's own numbers are those of `mocose_lib.Settings`. Raises InputError for
    impossible values.
    """

    # what is trained, and what it is measured on
    method: str = "mocose"  # a system, see `mocose systems`
    encoder: str = "tiny"  # a folder under data/encoders, a path, or a hub name
    encoder_init: Literal["pretrained", "random"] = "pretrained"
    corpus: str = "open"  # a name in CORPORA, a text file, or a data set of the hub
    corpus_size: Annotated[int, Range(2)] = 40_000  # sentences
    benchmark: str = "open"  # open, real, sample (a part of open), or "a.tsv,b.tsv"
    dev: str = ""  # a file of pairs that choose, in place of the benchmark's
    pooling: Literal["cls", "cls_pooler", "mean", "first_last"] = "cls"
    dropout: Share = 0.1
    fast: bool = True  # the faster forms of `fast/`, with other random numbers

    # evaluation and choice of the checkpoint; blind: dev without test pairs
    selection: Literal["dev", "blind", "test", "last"] = "dev"
    eval_max_length: Annotated[int, Range(4, 100_000)] = 128  # tokens
    transfer: bool = False  # measure the transfer tasks, too

    # views
    crop: Share = 0.0  # tokens cut away at the two ends of a sentence
    word_deletion: Share = 0.0  # tokens left out, at least one
    text_augmentation: TextAugmentation = "none"
    augmentation_models: tuple[str, ...] = ()  # (): those of text_augment.models_of
    augmentation_rate: Annotated[float, Range(0.001, 1)] = 0.1  # of words, one or more
    augmented_views: Literal["target", "both"] = "both"  # rewritten or shortened
    augment_at_evaluation: bool = False  # shuffle and cut-offs while scoring, too

    # other systems (systems/)
    statistics: Literal["task", "corpus"] = "task"  # whitening, flow: what they see
    kept_dimensions: Positive | None = None  # whitening; None: all that vary
    vectors: str = "glove/glove.6B.50d.subset.txt.xz"  # a path, or a file of the data
    mlp: Literal["training", "always", "never"] = "training"  # SimCSE's head
    positives: Literal["same", "next_sentence", "next_three"] = "same"  # SimCSE
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
        yield from super().contradictions()
        yield from _contradictions(self)

    def identity(self) -> str:
        """The canonical text that names a run, the same for equal configs."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Config":
        """Builds a Config from parsed JSON. Raises InputError on an unknown field."""
        values = {name: tuples(value) for name, value in values.items()}
        check_names(values)
        return cls(**values)


FIELDS = {field.name: field for field in fields(Config)}


def read_toml(package: str, name: str) -> dict:
    """What <name>.toml of a package holds. Raises InputError when it is no TOML."""
    try:
        return tomllib.loads(
            (files(package) / f"{name}.toml").read_text(encoding="utf-8")
        )
    except tomllib.TOMLDecodeError as cause:
        raise InputError(f"{name}.toml is no TOML: {cause}") from None


def tuples(value):
    """Lists, and those within them, as tuples: JSON and TOML have lists only."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def check_names(values: Iterable[str]) -> None:
    """Raises InputError for a name that is no field, with the nearest one that is."""
    for name in values:
        if name not in FIELDS:
            near = get_close_matches(name, FIELDS, 1)
            hint = (
                f"did you mean {near[0]!r}?"
                if near
                else f"known are {', '.join(FIELDS)}."
            )
            raise InputError(f"Config has no field {name!r}; {hint}")


def choose(table: Mapping, name: str, what: str):
    """table[name]. Raises InputError naming what there is when `name` is not in it."""
    if name not in table:
        raise InputError(
            f"there is no {what} {name!r}; choose one of {', '.join(table)}."
        )
    return table[name]


def vary(config: Config, **changes) -> Config:
    """A copy of `config` with some fields changed, validated."""
    check_names(changes)
    return replace(config, **changes)


def _contradictions(c):
    """A sentence for everything that is wrong with the Config `c`."""
    if c.batch_size > c.corpus_size:
        yield f"batch_size = {c.batch_size} is larger than corpus_size = {c.corpus_size}."
    distorted = c.position_shuffle or c.token_cutoff > 0 or c.feature_cutoff > 0
    shortened = c.crop > 0 or c.word_deletion > 0
    rewritten = c.text_augmentation != "none"
    for asked, names, able in (
        (
            distorted,
            "position_shuffle, token_cutoff and feature_cutoff",
            VIEWS_DISTORTED,
        ),
        (shortened, "crop and word_deletion", SHORTENED),
        (rewritten, "text_augmentation", TEXT_AUGMENTED),
        (c.two_encoders or c.mlm_weight > 0, "two_encoders and mlm_weight", TWO_VIEWS),
        (c.positives != "same", "positives", TWO_VIEWS[:2]),
        (
            c.fgsm_epsilon > 0,
            "FGSM (set fgsm_epsilon = 0 where a preset sets it)",
            VIEWS_DISTORTED,
        ),
    ):
        if asked and c.method not in able:
            yield f"{c.method} has no {names}; leave it out, or set method to one of {able}."
    needed = MODELS_NEEDED.get(c.text_augmentation, 0)
    if len(c.augmentation_models) not in (0, needed):
        yield (
            f"augmentation_models names {len(c.augmentation_models)}, but text_augmentation = "
            f"{c.text_augmentation!r} needs {needed}."
        )
    if c.same_mask and (c.positives != "same" or shortened or rewritten):
        yield (
            "same_mask needs two views of the same tokens; leave positives, crop, word_deletion and "
            "text_augmentation out."
        )
    if c.dropout_low > c.dropout_high:
        yield f"dropout_low = {c.dropout_low} is larger than dropout_high = {c.dropout_high}."
    if c.pooling == "cls_pooler" and c.method in POOLER_UNUSED:
        yield (
            f"pooling = 'cls_pooler' would measure a layer that {c.method} does not train; "
            "set pooling = 'cls'."
        )
