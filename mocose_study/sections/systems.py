"""Every system of the papers at its own best rate, and the search of these rates."""

from mocose_study.config import choose

from .section import Points, section, short

FGSM = {"fgsm_epsilon": 5e-9, "precision": "float32"}  # in the headline, as theirs
BERT = "bert-base-uncased"  # of the paper's rows
UNTRAINED = {"method": "untrained"}
FIRST_LAST = {"pooling": "first_last"}
OTHER_TEXT = FIRST_LAST | {"statistics": "corpus"}  # as the rows "NLI" that are printed
SYSTEMS = {
    "GloVe": {"method": "word_vectors", "paper": "glove, own"},
    "untrained [CLS]": UNTRAINED | {"paper": f"cls, {BERT}"},
    "untrained mean": UNTRAINED | {"pooling": "mean", "paper": f"mean, {BERT}"},
    "untrained first-last": UNTRAINED | FIRST_LAST | {"paper": f"first_last, {BERT}"},
    "whitening": OTHER_TEXT | {"method": "whitening", "paper": f"whitening, {BERT}"},
    "flow": OTHER_TEXT | {"method": "flow", "paper": f"flow, {BERT}"},
    "IS-BERT": {"method": "is_bert", "paper": f"is_bert, {BERT}"},
    "CT": {"method": "ct", "pooling": "mean", "paper": f"ct_bert, {BERT}"},
    "DeCLUTR": {
        "method": "declutr",
        "pooling": "mean",
        "corpus": "wiki_documents",
        "paper": "declutr, roberta-base",
    },
    "SimCSE": {"method": "simcse", "paper": f"simcse, {BERT}"},
    "S-SimCSE": {"method": "s_simcse"},
    "SimCSE supervised": {
        "method": "simcse_supervised",
        "mlp": "always",
        "paper": f"simcse_supervised, {BERT}",
    },
    "MoCoSE": FGSM | {"paper": f"mocose, {BERT}"},
    "MoCoSE, code": FGSM | {"preset": "code"},
    "MoCoSE, described": FGSM | {"preset": "described"},
    "decay 0": {"ema_decay": 0.0},
}
OF = {"decay 0": "MoCoSE"}  # the system whose rate another one takes
LONG = {"eval_every": 500, "corpus_size": 900_000}
OWN_RATE = LONG | {"lr": 3e-5, "fgsm_epsilon": 0.0}
SMALL = ("untrained [CLS]", "untrained mean", "SimCSE", "MoCoSE", "decay 0")


def points_of(systems, searched="best") -> Points:
    return {x: choose(SYSTEMS, x, "system") | {searched: OF.get(x, x)} for x in systems}


@section("20_main_results", paper="mocose_table1", small=SMALL)
def main_results(systems=tuple(SYSTEMS)) -> Points:
    """How do all systems compare? MoCoSE Table 1; SimCSE Table 5, Figure 3.

    One code path trains and measures them, each at its own best rate and length.
    """
    return points_of(systems)


@section("20_main_results", length=47, seeds=range(5), small=())
def full_length(systems=("MoCoSE", "SimCSE", "MoCoSE, code")) -> Points:
    """And over about the whole epoch of the paper, 14,000 steps?"""
    return {label: fields | LONG for label, fields in points_of(systems).items()}


@section("20_main_results", length=47, seeds=range(5), small=())
def full_own_rate(systems=("MoCoSE", "SimCSE", "decay 0")) -> Points:
    """And over the whole epoch at the paper's own rate, 3e-5, without FGSM?"""
    return {x: choose(SYSTEMS, x, "system") | OWN_RATE for x in systems}


OTHERS = ("SimCSE", "S-SimCSE", "SimCSE supervised", "IS-BERT", "CT", "DeCLUTR")
TRAINED = {
    "MoCoSE": {},
    "MoCoSE, code": {"preset": "code", "fgsm_epsilon": 0.0},
    "MoCoSE, described": {"preset": "described", "fgsm_epsilon": 0.0},
    **{name: SYSTEMS[name] for name in OTHERS},
}


@section("02_encoders", seeds=[100], small=())
def rate(
    systems=tuple(TRAINED), rates=(1e-4, 3e-4, 1e-3, 3e-3), lengths=(300, 1000)
) -> Points:
    """Which rate and length does dev like best for each system?"""
    return {
        f"{name}, {short(value)}, {steps}": choose(TRAINED, name, "system")
        | {"lr": value, "steps": steps}
        for name in systems
        for value in rates
        for steps in lengths
    }
