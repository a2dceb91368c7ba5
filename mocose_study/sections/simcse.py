"""Tables and figures of SimCSE and S-SimCSE.

SimCSE prints STS-B dev of the weights that dev chose; here it is dev of the last step,
since the best checkpoint of a run that harms is its first one.
"""

from mocose_study.config import choose

from .section import Points, crossed, section, short
from .systems import BERT

SIMCSE = {"method": "simcse", "selection": "last", "at_pace": "SimCSE"}
SUPERVISED = {"method": "simcse_supervised", "mlp": "always", "selection": "last"}
SUPERVISED["at_pace"] = "SimCSE supervised"
DOCUMENTS = SIMCSE | {"corpus": "wiki_documents"}  # a next sentence needs running text
ONE_VIEW = {"augmented_views": "target"}
DELETE_ONE = ONE_VIEW | {"word_deletion": 0.001}  # so small a share is one word
SYNONYM = ONE_VIEW | {"text_augmentation": "synonym"}


@section("21_simcse", paper="simcse_table3", common=SIMCSE, small=("0", "0.1"))
def simcse_dropout(rates=(0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.5)) -> Points:
    """Which dropout rate is best, and what if both views share one mask?

    SimCSE Table 3.
    """
    points = {short(r): {"dropout": r, "paper": f"{r}, no"} for r in rates}
    return points | {"same mask": {"same_mask": True, "paper": "0.1, yes"}}


AUGMENTATIONS = {
    "dropout only": {"paper": "none, , 0.1"},
    "delete one word": DELETE_ONE | {"paper": "delete_one_word, , 0.1"},
    "delete one word, no dropout": DELETE_ONE
    | {"dropout": 0.0, "paper": "delete_one_word, , 0"},
    "one synonym": SYNONYM | {"augmentation_rate": 0.001, "paper": "synonym, , 0.1"},
    "MLM 15%": SYNONYM | {"augmentation_rate": 0.15, "paper": "mlm, 0.15, 0.1"},
}


@section("21_simcse", paper="simcse_table1", common=SIMCSE, small=("dropout only",))
def simcse_augmentation(shares=(0.1, 0.2, 0.3)) -> Points:
    """Can discrete augmentations take the place of dropout? SimCSE Table 1."""
    points = dict(AUGMENTATIONS)
    for share in shares:
        cut = {"crop": share, "paper": f"crop, {share}, 0.1"}
        dropped = {"word_deletion": share, "paper": f"word_deletion, {share}, 0.1"}
        points[f"crop {share:.0%}"] = ONE_VIEW | cut
        points[f"delete {share:.0%}"] = ONE_VIEW | dropped
    return points


OBJECTIVES = {
    "itself": ({}, "simcse"),
    "delete one word": (DELETE_ONE, "delete_one_word"),
    "next sentence": ({"positives": "next_sentence"}, "next_sentence"),
    "one of the next three": ({"positives": "next_three"}, "next_3_sentences"),
}


@section("21_simcse", paper="simcse_table2", common=DOCUMENTS, small=())
def simcse_objective(objectives=tuple(OBJECTIVES)) -> Points:
    """Should a sentence predict itself, or the next one? SimCSE Table 2."""
    points = {}
    for name in objectives:
        fields, paper = choose(OBJECTIVES, name, "objective")
        points[name] = fields | {"paper": f"{paper}, 1"}
        two = {"two_encoders": True, "paper": f"{paper}, 2"}
        points[f"{name}, two encoders"] = fields | two
    return points


HEADS = {
    "MLP": ({"mlp": "always"}, "cls_pooler"),
    "MLP in training": ({"mlp": "training"}, "cls_pooler_train_only"),
    "no MLP": ({"mlp": "never"}, "cls"),
    "first-last": ({"mlp": "never", "pooling": "first_last"}, "first_last"),
}


@section("21_simcse", paper="simcse_table6", common=SIMCSE, small=("MLP in training",))
def simcse_pooling(heads=tuple(HEADS)) -> Points:
    """Which pooling, and which head in training and after it? SimCSE Table 6."""
    points = {}
    for name in heads:
        fields, paper = choose(HEADS, name, "head")
        points[name] = fields | {"paper": f"{paper}, simcse"}
        own = SUPERVISED | fields | {"paper": f"{paper}, simcse_supervised"}
        points[f"supervised: {name}"] = own
    return points


@section("21_simcse", paper="simcse_tableD1", common=SUPERVISED, small=())
def simcse_temperature(temperatures=(0.001, 0.01, 0.05, 0.1, 1.0)) -> Points:
    """Which temperature, and cosine or dot product? Supervised. SimCSE Table D.1."""
    points = {
        short(t): {"temperature": t, "paper": f"cosine, {t:g}"} for t in temperatures
    }
    dot = {"similarity": "dot", "temperature": 1.0, "paper": "dot, "}
    return points | {"dot product": dot}


@section("21_simcse", paper="simcse_table7", common=SUPERVISED, small=())
def simcse_hard_negatives(weights=(0.5, 1.0, 2.0)) -> Points:
    """How much should a contradiction weigh as a hard negative? SimCSE Table 7."""
    points = {
        f"α {short(w)}": {"hard_negative_weight": w, "paper": f"contradiction, {w}"}
        for w in weights
    }
    return {
        "none": {"hard_negatives": False, "paper": "none, "},
        **points,
        "α 1, two encoders": {"two_encoders": True},
    }


PAIRS = SUPERVISED | {"hard_negatives": False}
POSITIVES = {
    "no labels": SIMCSE | {"paper": "wikipedia, none, full"},
    "entailment": PAIRS | {"paper": "nli_entailment, none, full"},
    "contradiction": PAIRS
    | {"positives": "contradiction", "paper": "nli_contradiction, none, full"},
    "entailment, hard negatives": SUPERVISED
    | {"paper": "nli_entailment, contradiction, full"},
}


@section("21_simcse", paper="simcse_table4", small=())
def simcse_positives(positives=tuple(POSITIVES)) -> Points:
    """Which labelled pairs make good positives? SimCSE Table 4, as far as NLI goes."""
    return {name: choose(POSITIVES, name, "kind of pairs") for name in positives}


@section("21_simcse", common=SIMCSE, small=())
def simcse_batch(batch_sizes=(64, 128, 256), rates=(3e-4, 1e-3, 3e-3)) -> Points:
    """Does the batch matter, once the rate suits it? SimCSE A, Table A.1."""
    return crossed(batch_size=batch_sizes, lr=rates)


VIEWS = {
    "dropout only": {},
    "no dropout": {"dropout": 0.0},
    "same mask": {"same_mask": True},
    "delete one word": DELETE_ONE,
}


@section("21_simcse", common=SIMCSE | {"probe_every": 10}, small=())
def simcse_trajectory(views=tuple(VIEWS)) -> Points:
    """How do alignment and uniformity move in training? SimCSE Figure 2."""
    points = {name: choose(VIEWS, name, "view") for name in views}
    untrained = {"method": "untrained", "selection": "dev"}
    random = {"encoder_init": "random"}
    return points | {"untrained": untrained, "random encoder": random}


@section("21_simcse", paper="simcse_tableD2", common=SUPERVISED, small=())
def simcse_mlm(weights=(0.0, 0.01, 0.1, 1.0)) -> Points:
    """What does masked-word training beside it change? Supervised. SimCSE Table D.2."""
    return {short(w): {"mlm_weight": w, "transfer": True} for w in weights}


@section("22_s_simcse", paper="s_simcse_table1", seeds=range(7), small=("fixed rate",))
def s_simcse(masks=("fixed rate", "sampled", "sampled, each sentence")) -> Points:
    """Does it help to draw the dropout rate anew, for each sentence by itself?

    S-SimCSE Table 1, with its seven seeds. All have the rate that suits SimCSE.
    """
    fixed = {"method": "simcse", "at_pace": "SimCSE"}
    sampled = {"method": "s_simcse", "at_pace": "SimCSE"}
    known = {
        "fixed rate": fixed | {"paper": f"simcse, no, {BERT}"},
        "sampled": sampled
        | {"sentence_dropout": False, "paper": f"s_simcse, no, {BERT}"},
        "sampled, each sentence": sampled | {"paper": f"s_simcse, yes, {BERT}"},
    }
    return {name: choose(known, name, "kind of mask") for name in masks}
