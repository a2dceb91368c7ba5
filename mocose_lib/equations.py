"""LaTeX as MathML Core, which browsers draw by themselves."""

import re
import unicodedata

from latex2mathml.converter import convert

from .config import StudyError


def mathml(latex: str, display: str) -> str:
    """A formula as a <math> element; `display`: block or inline.

    Raises StudyError for a formula, or a command in it, that cannot be converted.
    """
    try:
        found = convert(latex.strip(), display=display)
    except Exception as cause:  # the library has a dozen kinds, without one above them
        raise StudyError(f"the equation {latex!r} is no LaTeX: {cause!r}.") from None
    if unknown := re.search(r">(\\[a-zA-Z]+)<", found):
        raise StudyError(f"the equation {latex!r} has the unknown command {unknown[1]}.")
    # a thin space between a function's name and what stands without brackets, as TeX has it
    found = re.sub(r"(<mi>[a-z]{2,}</mi>)(?!<mo|</)", r'\1<mspace width="0.167em"></mspace>', found)
    return re.sub(r'<mi mathvariant="([\w-]+)">(\w)</mi>', _styled, found)


def _styled(symbol: re.Match) -> str:
    """A script, double-struck ... letter as Unicode's own: MathML Core knows upright ones only."""
    style, letter = symbol.groups()
    if style == "normal":
        return symbol[0]
    name = f"{style.upper()} {unicodedata.name(letter)}"  # SCRIPT LATIN CAPITAL LETTER L
    name = name.replace("LATIN ", "").replace("LETTER ", "")
    for candidate in (f"MATHEMATICAL {name}", name):  # the oldest, such as ℒ, have the short name
        try:
            return f"<mi>{unicodedata.lookup(candidate)}</mi>"
        except KeyError:
            continue
    return symbol[0]
