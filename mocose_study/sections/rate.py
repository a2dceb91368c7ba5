"""The search of rate and length, as many tries for all; in ties of 0.1, three seeds."""

from mocose_study.config import choose

from .section import Points, section, short
from .systems import SYSTEMS

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
