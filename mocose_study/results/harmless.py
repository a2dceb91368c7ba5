"""A Sphinx extension: equations as MathML, and from notebooks nothing that could do harm.

MyST reads cells as plain CommonMark (`site.toml`), which has no directives and no roles. What it
makes of a notebook is cleaned here before Sphinx collects titles, images and files; `sanitise`
lets through what is known.
"""

import re
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import nh3
from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from mocose_lib import InputError

SCHEMES = {"http", "https", "mailto"}  # of links; nothing is loaded from elsewhere
TAGS = nh3.ALLOWED_TAGS - {"img"}
LINK = r"(\w+)\.ipynb(#?)([\w:-]*)"  # of a notebook
STYLES = {"color", "background-color", "font-weight", "text-align"}


def sanitise(app: Sphinx, tree: nodes.document, *_) -> None:
    """HTML cleaned; links of known schemes alone; images that lie in the site; equations made."""
    for node in list(tree.findall(nodes.raw)):
        html = nh3.clean(
            node.astext(),
            tags=TAGS,
            attributes={**nh3.ALLOWED_ATTRIBUTES, "*": {"class", "style"}},
            url_schemes=SCHEMES,
            filter_style_properties=STYLES,
        )
        html = re.sub(rf'href="{LINK}"', lambda link: f'href="{page(link)}"', html)
        fit = "html" in node.get("format", "")
        node.replace_self(nodes.raw("", html, format="html") if fit else nodes.Text(""))
    for node in list(tree.findall(nodes.reference)):
        if urlsplit(node.get("refuri", "")).scheme.lower() not in {"", *SCHEMES}:
            node.replace_self(nodes.Text(node.astext()))
        elif link := re.fullmatch(LINK, node.get("refuri", "")):
            node["refuri"] = page(link)
    site = Path(app.srcdir).resolve().parent
    for node in list(tree.findall(nodes.image)):
        uri = urlsplit(node["uri"])
        place = Path(app.srcdir, uri.path.removeprefix("/")).resolve()
        inside = place.is_relative_to(site) and place.is_file()
        if uri.scheme or uri.netloc or not inside:
            node.replace_self(nodes.Text(node.get("alt", "")))
    for node in list(tree.findall(nodes.literal)):
        if equation := re.fullmatch(r"\$(.+)\$", node.astext(), re.S):
            node.replace_self(nodes.math("", equation[1]))
    for node in list(tree.findall(nodes.literal_block)):
        if node.get("language") == "math":
            node.replace_self(nodes.math_block("", node.astext()))


def escape_title(app: Sphinx, name: str, template: str, context: dict, tree) -> None:
    """The theme prints the text of a title as if it were HTML."""
    context["pagetitle"] = escape(context.get("pagetitle", ""))


def page(link: re.Match) -> str:
    """A link to a heading of a notebook, as Jupyter names it, made one to the site's page."""
    return f"{link[1]}.html{link[2]}{nodes.make_id(link[3])}"


def visit_math(writer, node) -> None:
    block = isinstance(node, nodes.math_block)
    try:
        writer.body.append(tex2mathml(node.astext(), as_block=block))
    except MathError as cause:
        raise InputError(
            f"the equation {node.astext()!r} cannot be shown: {cause}"
        ) from None
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    app.connect(
        "doctree-read", sanitise, priority=0
    )  # before titles and files are collected
    app.connect("doctree-resolved", sanitise)
    app.connect("html-page-context", escape_title, priority=999)  # after the theme
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    return {"parallel_read_safe": True}
