"""The sections of the study: a function each, one for a table or figure of the papers.

`SECTIONS` has them with the papers' numbers, in the order of the files and of the
functions in each; `claims.csv` says how they are judged.
"""

from importlib import import_module

from .section import Section

FILES = "systems averaging queue heads views batch vectors differences simcse rate"
_MODULES = (import_module(f".{name}", __package__) for name in FILES.split())
FUNCTIONS = {
    name: made
    for module in _MODULES
    for name, made in vars(module).items()
    if hasattr(made, "makes_a_section")
}
SECTIONS: dict[str, Section] = {name: make() for name, make in FUNCTIONS.items()}
