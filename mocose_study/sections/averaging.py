"""The moving average: how fast it follows, and what happens without it."""

from .section import Points, cells, crossed, section, short


@section("04_ema", paper="mocose_table3", seeds=range(20), small=("0.5", "0.85"))
def ema(decays=(0.5, 0.8, 0.85, 0.9, 0.95, 0.99)) -> Points:
    """How fast should the target follow? MoCoSE Table 3, Figure 8."""
    base = {"0.75 → 0.95": {}}  # the paper's main model, which its table leaves out
    return base | {short(decay): {"ema_decay": decay} for decay in decays}


@section("12_collapse", small=("0, 0.001", "0.85, 0.001"))
def pace(decays=(0.0, 0.5, 0.85, 0.95, 0.99), rates=(1e-4, 3e-4, 1e-3, 3e-3)) -> Points:
    """From which learning rate on does averaging matter? A question of this study."""
    return crossed(ema_decay=decays, lr=rates)


@section("02_encoders", seeds=range(5), small=())
def range_tried() -> Points:
    """Does another training have more range than the pace? A question of this study."""
    tried = {f"{steps} steps": {"steps": steps} for steps in (150, 300, 600, 1000)}
    tried |= {f"warm-up of {steps}": {"warmup_steps": steps} for steps in (30, 100)}
    tried |= {f"weight decay {x:g}": {"weight_decay": x} for x in (0.01, 0.1)}
    decays = {"0.85": {"ema_decay": 0.85}, "0": {"ema_decay": 0.0}}
    return cells(tried, decays) | {"untrained [CLS]": {"method": "untrained"}}


@section("12_collapse", length=10, seeds=range(5), small=())
def collapse(decays=(0.0,)) -> Points:
    """Do equal branches collapse? Is a predictor enough? MoCoSE A.2, Figures 5, 6."""
    points = {"MoCoSE": {}, "untrained [CLS]": {"method": "untrained"}}
    for decay in decays:
        more = "" if decay == 0 else f", decay {short(decay)}"
        points[f"predictor alone{more}"] = {"ema_decay": decay}
        points[f"symmetric{more}"] = {"ema_decay": decay, "predictor_layers": 0}
    return points
