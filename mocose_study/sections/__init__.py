"""The sections of the study: a function each, one for a table or figure of the papers.

`SECTIONS` has them with the papers' numbers, in the order of `FILES` and of the
functions in each; `claims.csv` says how they are judged.
"""

from importlib import import_module

from .section import FUNCTIONS, Section

FILES = "systems averaging queue heads views batch vectors differences simcse"
for file in FILES.split():
    import_module(f".{file}", __package__)  # which puts its functions into FUNCTIONS
SECTIONS: dict[str, Section] = {name: make() for name, make in FUNCTIONS.items()}
