"""Whether runs in bf16 end where runs in float32 do: what the speed of bf16 must not cost.

Both draw other dropout masks, so that a pair differs by as much as two seeds do; hence ten of them.
"""

from mocose_study.claims.verdicts import Claim
from mocose_study.sections.grid import Grid, Point, level
from mocose_study.sections import room

FLOAT, HALF = {"precision": "float32"}, {"precision": "bf16"}
SYSTEMS = {
    "SimCSE": Point("", {"method": "simcse"}),
    "MoCoSE": Point("", {}),
    "SimCSE, tiny-mlm": room.simcse("", **room.FROM),  # where training has most to do
    "MoCoSE, tiny-mlm": room.mocose("", **room.FROM),
}  # fmt: skip

GRIDS = {
    "precision": Grid(
        question="Do runs in bf16 end where runs in float32 do?",
        points=tuple(
            Point(f"{name}, {field['precision']}", {**system.fields, **field}, tier=2,
                  scale=system.scale)
            for name, system in SYSTEMS.items() for field in (FLOAT, HALF)
        ),
        notebook="90_speed", seeds=10,
        claims=tuple(
            Claim(f"bf16-{name.lower().replace(', ', '-')}", "this study",
                  f"{name}: bf16 ends within half a point of float32.",
                  level(f"{name}, bf16", f"{name}, float32"))
            for name in SYSTEMS
        ),
    ),
}  # fmt: skip
