"""The search of learning rate and length, the same number of tries for every system."""

from mocose_study.config import choose

from .section import Points, section

TRAINED = {
    "MoCoSE": {},
    "MoCoSE, code": {"preset": "code", "fgsm_epsilon": 0.0},
    "MoCoSE, described": {"preset": "described", "fgsm_epsilon": 0.0},
    "SimCSE": {"method": "simcse"},
    "S-SimCSE": {"method": "s_simcse"},
    "SimCSE supervised": {"method": "simcse_supervised", "mlp": "always"},
    "IS-BERT": {"method": "is_bert"},
    "CT": {"method": "ct", "pooling": "mean"},
    "DeCLUTR": {"method": "declutr", "pooling": "mean", "corpus": "wiki_documents"},
}
# What dev liked best in the runs of `rate`, at tiny. The others stand at the pace: it is
# best for them, too.
BEST: dict[str, dict] = {
    "MoCoSE, code": {"lr": 1e-4},
    "MoCoSE, described": {"lr": 1e-4},
    "SimCSE": {"lr": 3e-4},
    "IS-BERT": {"lr": 3e-4},
    "CT": {"lr": 3e-4},
    "DeCLUTR": {"lr": 3e-3},
}


def best(system: str) -> dict:
    """The fields in which a system's best rate and length differ from the pace."""
    return BEST.get(system, {})


@section("02_encoders", seeds=[100], small=())
def rate(
    systems=tuple(TRAINED), rates=(1e-4, 3e-4, 1e-3, 3e-3), lengths=(300,)
) -> Points:
    """Which rate and length does dev like best for each system?"""
    return {
        f"{name}, {value:g}, {steps}": choose(TRAINED, name, "system")
        | {"lr": value, "steps": steps}
        for name in systems
        for value in rates
        for steps in lengths
    }
