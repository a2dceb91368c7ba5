"""A Sphinx extension: equations as MathML, and from notebooks no HTML that could do harm.

All that a notebook shows as HTML passes `sanitise`; Sphinx itself escapes the rest.
"""

import re
from urllib.parse import urlsplit

import nh3
from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from mocose_lib import InputError

SCHEMES = {"http", "https", "mailto"}  # of links; nothing is loaded from elsewhere
TAGS = nh3.ALLOWED_TAGS - {"img"}
STYLES = {"color", "background-color", "font-weight", "text-align"}


def sanitise(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Every HTML fragment cleaned, every link of another scheme and every remote image left out."""
    for node in list(tree.findall(nodes.raw)):
        html = nh3.clean(
            node.astext(),
            tags=TAGS,
            attributes={**nh3.ALLOWED_ATTRIBUTES, "*": {"class", "style"}},
            url_schemes=SCHEMES,
            filter_style_properties=STYLES,
        )
        html = re.sub(r'href="(\w+)\.ipynb(#?)([\w:-]*)"', page, html)
        fit = "html" in node.get("format", "")
        node.replace_self(nodes.raw("", html, format="html") if fit else nodes.Text(""))
    for node in list(tree.findall(nodes.reference)):
        if urlsplit(node.get("refuri", "")).scheme.lower() not in {"", *SCHEMES}:
            node.replace_self(nodes.Text(node.astext()))
    for node in list(tree.findall(nodes.image)):
        if urlsplit(node["uri"]).scheme.lower() not in ("", "data"):
            node.replace_self(nodes.Text(node.get("alt", "")))


def page(link: re.Match) -> str:
    """A link to a heading of a notebook, as Jupyter names it, made one to the site's page."""
    return f'href="{link[1]}.html{link[2]}{nodes.make_id(link[3])}"'


def visit_math(writer, node) -> None:
    block = isinstance(node, nodes.math_block)
    try:
        writer.body.append(tex2mathml(node.astext(), as_block=block))
    except MathError as cause:
        raise InputError(f"the equation {node.astext()!r} cannot be shown: {cause}") from None
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", sanitise)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    return {"parallel_read_safe": True}
