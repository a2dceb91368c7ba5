"""Formulas as MathML, and images and figures on a page."""

import base64
import re
from unicodedata import lookup
from xml.etree import ElementTree

import pytest

from mocose_study.config import InputError
from DELETED.equations import mathml
from DELETED.pages import finish, image_size, saved_stem


@pytest.mark.parametrize(
    "latex, text",
    [
        (r"\mathbb E", lookup("MATHEMATICAL DOUBLE-STRUCK CAPITAL E")),
        (r"\mathcal B", lookup("SCRIPT CAPITAL B")),
        (r"\mathbf x", lookup("MATHEMATICAL BOLD SMALL X")),
        (r"\theta_t \leftarrow \eta\,\theta_t", "θt←ηθt"),
        (r"d_{trace} = \frac{1}{1-\eta} + \frac{K}{B}", "dtrace=11−η+KB"),
    ],
)
def test_formulas(latex, text):
    assert "".join(ElementTree.fromstring(mathml(latex, "inline")).itertext()) == text


@pytest.mark.parametrize("latex", [r"\nosuchcommand x", "x^{"])
def test_a_formula_that_cannot_be_converted_is_named(latex):
    with pytest.raises(InputError, match=re.escape(repr(latex))):
        mathml(latex, "block")


@pytest.mark.parametrize(
    "source, stem",
    [
        ('plots.save(figure, table, profile, "04_ema");', "04_ema"),
        ('plots.save(figure, pd.DataFrame({"x": f("y")}), profile,\n  "04_ema")', "04_ema"),
        ('plots.save(figure, table, profile, f"04_{n}")', ""),
        ("figure", ""),
    ],
)
def test_the_name_of_a_saved_figure(source, stem):
    assert saved_stem(source) == stem


def test_images_must_be_embedded_and_have_a_size():
    with pytest.raises(InputError, match=r"'https://x/y\.png' is not embedded"):
        finish('<main><img src="https://x/y.png"></main>', [], [])
    plain = base64.b64encode(b'<svg width="100%" height="1"/>').decode()
    with pytest.raises(InputError, match="states no width and height"):
        image_size(f"data:image/svg+xml;base64,{plain}")
