"""Values of a Config that contradict each other."""

POOLER_UNUSED = ("simcse", "s_simcse", "simcse_supervised", "ct", "flow", "is_bert", "declutr")
VIEWS_DISTORTED = ("mocose",)  # by position shuffle and cut-offs
TEXT_AUGMENTED = ("mocose", "simcse")
SHORTENED = (*TEXT_AUGMENTED, "s_simcse")  # by crop and word deletion
TWO_VIEWS = ("simcse", "s_simcse", "simcse_supervised")
MODELS_NEEDED = {"synonym": 1, "insertion": 1, "paraphrase": 1, "back_translation": 2}


def contradictions(c):
    """A sentence for everything that is wrong with the Config `c`."""
    if c.batch_size > c.corpus_size:
        yield f"batch_size = {c.batch_size} is larger than corpus_size = {c.corpus_size}."
    distorted = c.position_shuffle or c.token_cutoff > 0 or c.feature_cutoff > 0
    shortened = c.crop > 0 or c.word_deletion > 0
    rewritten = c.text_augmentation != "none"
    for asked, names, able in (
        (distorted, "position_shuffle, token_cutoff and feature_cutoff", VIEWS_DISTORTED),
        (shortened, "crop and word_deletion", SHORTENED),
        (rewritten, "text_augmentation", TEXT_AUGMENTED),
        (c.two_encoders or c.mlm_weight > 0, "two_encoders and mlm_weight", TWO_VIEWS),
        (c.positives != "same", "positives", TWO_VIEWS[:2]),
        (c.fgsm_epsilon > 0, "FGSM (set fgsm_epsilon = 0 where a preset sets it)", VIEWS_DISTORTED),
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
    yield from _of_systems(c)


def _of_systems(c):
    """The same for fields that some systems alone read."""
    if c.dropout_low > c.dropout_high:
        yield f"dropout_low = {c.dropout_low} is larger than dropout_high = {c.dropout_high}."
    if c.method == "ct" and c.batch_size % (c.ct_negatives + 1) > 0:
        yield (
            f"batch_size = {c.batch_size} is no multiple of ct_negatives + 1 = {c.ct_negatives + 1}, "
            "a sentence with its negatives."
        )
    if c.method == "declutr" and c.span_min > c.max_length - 2:
        yield (
            f"span_min = {c.span_min} leaves no span in max_length = {c.max_length}, "
            "two of which are special tokens."
        )
    asked = (c.mlp, c.selection, c.optimizer, c.similarity, c.precision)
    if c.method == "simcse_reference" and asked != ("never", "last", "adamw", "cosine", "float32"):
        yield (
            "simcse_reference has one way only; set mlp = 'never', selection = "
            "'last', optimizer = 'adamw', similarity = 'cosine' and precision = 'float32'."
        )
    if c.method == "simcse_reference" and c.pooling not in ("cls", "mean"):
        yield f"simcse_reference has no pooling {c.pooling!r}; set pooling to 'cls' or 'mean'."
    if c.pooling == "cls_pooler" and c.method in POOLER_UNUSED:
        yield (
            f"pooling = 'cls_pooler' would measure a layer that {c.method} does not train; "
            "set pooling = 'cls'."
        )
