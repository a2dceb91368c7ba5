"""Types of a Config's values, and values that contradict each other."""

from typing import Literal, get_args, get_origin

POOLER_UNUSED = ("simcse", "s_simcse", "simcse_supervised", "ct", "flow", "is_bert", "declutr")
VIEWS_DISTORTED = ("mocose",)  # by position shuffle and cut-offs
TEXT_AUGMENTED = ("mocose", "simcse")
SHORTENED = (*TEXT_AUGMENTED, "s_simcse", "simcse_supervised")  # by crop and word deletion
MODELS_NEEDED = {"synonym": 1, "insertion": 1, "paraphrase": 1, "back_translation": 2}


def contradictions(c):
    """Pairs of (is the Config `c` wrong, the sentence that says so)."""
    yield c.batch_size > c.corpus_size, (
        f"batch_size = {c.batch_size} is larger than corpus_size = {c.corpus_size}."
    )
    yield c.whitened_on > c.corpus_size, (
        f"whitened_on = {c.whitened_on} is larger than corpus_size = {c.corpus_size}."
    )
    distorted = c.position_shuffle or c.token_cutoff > 0 or c.feature_cutoff > 0
    yield distorted and c.method not in VIEWS_DISTORTED, (
        f"{c.method} has no position_shuffle, token_cutoff and feature_cutoff; leave them out, or "
        f"set method to one of {VIEWS_DISTORTED}."
    )
    yield c.fgsm_epsilon > 0 and c.method != "mocose", (
        f"{c.method} has no FGSM, which only mocose has; set fgsm_epsilon = 0 (presets may set it)."
    )
    rewritten = c.text_augmentation != "none"
    yield rewritten and c.method not in TEXT_AUGMENTED, (
        f"{c.method} has no text_augmentation; set it to 'none', or method to one of "
        f"{TEXT_AUGMENTED}."
    )
    shortened = c.crop > 0 or c.word_deletion > 0
    yield shortened and c.method not in SHORTENED, (
        f"{c.method} has no crop and word_deletion; set them to 0, or method to one of {SHORTENED}."
    )
    needed = MODELS_NEEDED.get(c.text_augmentation, 0)
    yield len(c.augmentation_models) not in (0, needed), (
        f"augmentation_models names {len(c.augmentation_models)}, but text_augmentation = "
        f"{c.text_augmentation!r} needs {needed}."
    )
    yield from _of_systems(c)


def _of_systems(c):
    """The same for fields that some systems alone read."""
    rewritten = c.text_augmentation != "none"
    shortened = c.crop > 0 or c.word_deletion > 0
    other_tokens = c.positives != "same" or shortened or rewritten
    yield c.same_mask and other_tokens, (
        "same_mask needs two views of the same tokens; leave positives, crop, word_deletion and "
        "text_augmentation out."
    )
    yield c.dropout_low > c.dropout_high, (
        f"dropout_low = {c.dropout_low} is larger than dropout_high = {c.dropout_high}."
    )
    yield c.method == "ct" and c.batch_size % (c.ct_negatives + 1) > 0, (
        f"batch_size = {c.batch_size} is no multiple of ct_negatives + 1 = {c.ct_negatives + 1}, "
        "a sentence with its negatives."
    )
    yield c.method == "declutr" and c.span_min > c.max_length - 2, (
        f"span_min = {c.span_min} leaves no span in max_length = {c.max_length}, "
        "two of which are special tokens."
    )
    reference = ("never", "last", "adamw", "cosine", "float32")
    asked = (c.mlp, c.selection, c.optimizer, c.similarity, c.precision)
    yield c.method == "simcse_reference" and asked != reference, (
        "simcse_reference has one way only; set mlp = 'never', selection = "
        "'last', optimizer = 'adamw', similarity = 'cosine' and precision = 'float32'."
    )
    yield c.method == "simcse_reference" and c.pooling not in ("cls", "mean"), (
        f"simcse_reference has no pooling {c.pooling!r}; set pooling to 'cls' or 'mean'."
    )
    yield c.pooling == "cls_pooler" and c.method in POOLER_UNUSED, (
        f"pooling = 'cls_pooler' would measure a layer that {c.method} does not train; "
        "set pooling = 'cls'."
    )


def accepts(kind, value) -> bool:
    """Whether `value` has the annotated type; an int is a fine float, a bool is no number."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            return False
        inner = get_args(kind)
        kinds = inner[:1] * len(value) if inner[-1] is ... else inner
        return len(kinds) == len(value) and all(map(accepts, kinds, value))
    if get_args(kind) and type(None) in get_args(kind):
        inner = [k for k in get_args(kind) if k is not type(None)]
        return value is None or any(accepts(k, value) for k in inner)
    return isinstance(value, get_origin(kind) or kind)
