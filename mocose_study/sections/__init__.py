"""The sections of the study: a function each, one for a table or figure of the papers.

`SECTIONS` has them with the papers' numbers, in the order of `FILES` and of the
functions in each; `claims.csv` says how they are judged.
"""

from . import (
    averaging,
    batch,
    differences,
    heads,
    queue,
    rate,
    simcse,
    systems,
    vectors,
    views,
)
from .section import Section

FILES = (systems, averaging, queue, heads, views, batch)
FILES += (vectors, differences, simcse, rate)
FUNCTIONS = {
    name: made
    for file in FILES
    for name, made in vars(file).items()
    if hasattr(made, "makes_a_section")
}
SECTIONS: dict[str, Section] = {name: make() for name, make in FUNCTIONS.items()}
