"""The three names of every section notebook: `open_section`, `answer`, `source`."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from textwrap import dedent

from IPython import get_ipython
from IPython.display import Markdown
from transformers.utils.logging import disable_progress_bar

from mocose_study.config import InputError, choose
from mocose_study.sections import FUNCTIONS, SECTIONS

from . import ledger
from .opened import Opened

disable_progress_bar()  # the bar of a loaded model is no result
EVIDENCE = "tiny"  # the profile that answers where another has no verdicts


def open_section(
    name: str,
    profile: str = EVIDENCE,
    seeds: Sequence[int] | None = None,
    changes: Mapping | None = None,
    run_missing: bool | None = None,
    **numbers,
) -> Opened:
    """A section with its runs; `numbers` take the place of the paper's.

    changes: fields for all of its points. run_missing: None where nobody can ask for
    them. Runs that are not of the study go to runs/<profile>. A section that has none
    at the profile shows those of `tiny`. Raises InputError for a name or value that is
    not possible.
    """
    check_parameters()
    if run_missing not in (True, False, None):
        raise InputError(f"run_missing = {run_missing!r} is neither True nor False.")
    chosen = choose(FUNCTIONS, name, "section")(**numbers)
    chosen = chosen if changes is None else chosen.changed(changes)
    if chosen == SECTIONS[name] and not chosen.labels(profile):
        print(f"profile {profile} has no runs of {name}; these are of {EVIDENCE}")
        return Opened(chosen, EVIDENCE, seeds)
    opened = Opened(chosen, profile, seeds)
    if run_missing:
        opened.make()
    elif missing := opened.missing():
        total = len(chosen.configs(profile, seeds))
        done = f"{name}: {total - len(missing)} of {total} runs at profile {profile}"
        more = "" if run_missing is None else "; run_missing = True makes the others"
        print(f"{done}{more}.")
    return opened


def check_parameters() -> None:
    """Raises InputError for a name that papermill set and the notebook does not have.

    Papermill puts its values into a cell of its own, behind the one with the defaults.
    """
    cells = getattr(get_ipython(), "user_ns", {}).get("In", [])
    for before, cell in pairwise(cells):
        if cell.startswith("# Parameters\n"):
            known, given = (re.findall(r"(?m)^(\w+) =", x) for x in (before, cell))
            for name in given:
                choose(dict.fromkeys(known), name, "parameter of this notebook")


def answer(section: str, *sentences: tuple[str, str, str]) -> Markdown:
    """The answer on a notebook's first screen: a person's sentences, the runs' numbers.

    Each is (claim, verdict, text), see `ledger.sentence`.
    """
    judged = ledger.of_section(SECTIONS[section], EVIDENCE)
    return Markdown(" ".join(ledger.sentence(judged, *given) for given in sentences))


def source(*objects: Callable) -> Markdown:
    """The source of functions or classes, as the library has it at this moment."""
    check_parameters()
    texts = [dedent(inspect.getsource(o)) for o in objects]
    return Markdown("\n".join(f"```python\n{text}```" for text in texts))
