"""The executed notebooks of a profile as pages that open from a folder, offline.

What stands in a notebook is not trusted. Its text is read as CommonMark with equations,
of its results only `KINDS` are taken, and `nh3` lets through a short list of HTML.
"""

import base64
import re
import shutil
from html import escape
from pathlib import Path

import nbformat
import nh3
from docutils.utils.math.latex2mathml import tex2mathml
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from mocose_study.config import PROFILES, InputError, choose
from mocose_study.data.files import study_folder
from mocose_study.runs import study

from . import readme
from .ledger import judged
from .tables import filled

STYLE = Path(__file__).parent / "static" / "site.css"
COMMITTED = "tiny"  # the profile at which notebooks are committed
LINK = re.compile(r"(?:notebooks/)?(\d\d_\w+)\.ipynb(?:#.*)?")
CODE = re.compile(r'(?<!">)<code>(\d\d_\w+)</code>')
PICTURE = "data:image/png;base64,"
KINDS = ("image/png", "text/html", "text/markdown", "text/plain")  # the best first
MATHML = """math mi mo mn ms mtext mspace mrow mfrac msqrt mroot msup msub msubsup mtd
    munder mover munderover mtable mtr mstyle mpadded mphantom menclose"""
SCHEMES = {"http", "https", "mailto", "data"}
TAGS = nh3.ALLOWED_TAGS | {*MATHML.split()}
ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, "*": {"class", "colspan", "rowspan"}}
ATTRIBUTES |= {"math": {"display"}, "mo": {"stretchy"}, "mspace": {"width"}}


def make_report(profile: str) -> Path:
    """Builds report/<profile> and returns its index.html.

    Raises InputError for an unknown profile, where there are no notebooks, and for one
    that is damaged; the last report stays then.
    """
    choose(PROFILES, profile, "profile")
    paths = notebooks(profile)
    read = {name: page_of(path, profile) for name, path in paths.items()}
    links = "\n".join(
        f'<li><a href="{name}.html">{name[:2]} {escape(title)}</a></li>'
        for name, (title, _) in read.items()
    )
    read["index"] = "MoCoSE, replicated", front_page(profile)
    target = study_folder() / "report" / profile
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, (title, body) in read.items():
        html = filled("page.html", title=escape(title), links=links, body=body)
        (target / f"{name}.html").write_text(html, "utf-8")
    shutil.copy(STYLE, target)
    return target / "index.html"


def notebooks(profile: str) -> dict[str, Path]:
    """By name: the notebooks executed at this profile, else as they are committed."""
    paths = {name: study.places(name, profile) for name in study.notebooks()}
    return {x: made if made.exists() else own for x, (own, made, _) in paths.items()}


def page_of(path: Path, profile: str) -> tuple[str, str]:
    """The title and the body of a notebook. Raises InputError where it is damaged."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        body = body_of(notebook.cells)
    except Exception as cause:  # whatever a file may hold, and nbformat meet in it
        why = f"{type(cause).__name__}: {cause}".partition("\n")[0]
        message = f"notebook {path} is damaged ({why}); execute it again."
        raise InputError(message) from None
    if profile not in {COMMITTED, path.parent.name}:
        body = f"<p>Executed at profile {COMMITTED}.</p>{body}"
    first = next((cell.source for cell in notebook.cells), "Untitled")
    return first.partition("\n")[0].removeprefix("# "), body


def body_of(cells: list[NotebookNode]) -> str:
    """The cells as HTML. Code is folded, and comes after its results."""
    parts, titles = [], ["figure"]
    for cell in cells:
        if cell.cell_type == "markdown":
            parts.append(text(cell.source))
            titles = re.findall(r"(?m)^#+ (.+)", cell.source) or titles
        elif cell.cell_type == "code":
            output = "".join(result(output, titles[-1]) for output in cell.outputs)
            code = f"<summary>Code</summary><pre>{colored(cell.source)}</pre>"
            parts.append(f'<div class="output">{output}</div><details>{code}</details>')
    return "\n".join(parts)


def result(output: NotebookNode, title: str) -> str:
    """An output as HTML: the first of `KINDS`, else its plain text.

    A picture is described by the title above it.
    """
    data = output.get("data", {})
    kind = next((kind for kind in KINDS if kind in data), None)
    if kind == "image/png":
        picture = "".join(data[kind].split())
        base64.b64decode(picture, validate=True)
        return f'<img alt="figure: {escape(title)}" src="{PICTURE}{picture}">'
    if kind == "text/html":
        return clean(data[kind])
    if kind == "text/markdown":
        return text(data[kind])
    printed = data.get(kind) or output.get("text") or output.get("traceback", "")
    return f"<pre>{escape(''.join(printed))}</pre>"


def allowed(tag: str, name: str, value: str) -> str | None:
    """An attribute's value, or None: pictures of a page's own, links to pages."""
    if name == "src":
        return value if value.startswith(PICTURE) else None
    if name == "href":
        value = f"{to[1]}.html" if (to := LINK.fullmatch(value)) else value
        return None if "data:" in value.lower() else value
    return value


cleaner = {"tags": TAGS, "attributes": ATTRIBUTES, "url_schemes": SCHEMES}
clean = nh3.Cleaner(attribute_filter=allowed, **cleaner).clean


def colored(code: str, language: str = "python", *_) -> str:
    made = highlight(code, PythonLexer(), HtmlFormatter(nowrap=True))
    return made if language == "python" else escape(code)


def equation(tex: str, options: dict) -> str:
    """An equation as MathML; as it was written where that cannot be made."""
    try:
        return tex2mathml(tex, as_block=options["display_mode"])
    except Exception:
        return f"<code>{escape(tex)}</code>"


def unloaded(_, tokens, i: int, *__) -> str:
    """A picture in Markdown as its words, since its file lies elsewhere."""
    return escape(tokens[i].content)


reader = MarkdownIt("commonmark", {"html": False, "highlight": colored})
reader.enable("table").use(dollarmath_plugin, renderer=equation, double_inline=True)
reader.add_render_rule("image", unloaded)


def text(source: str) -> str:
    """Markdown as HTML; the name of a notebook in backticks is a link to it."""
    linked = CODE.sub(r'<a href="\1.html"><code>\1</code></a>', reader.render(source))
    return clean(linked)


def front_page(profile: str) -> str:
    """The README's findings, and a table with the first claim of each section."""
    path = study_folder() / "README.md"
    readme_text = path.read_text("utf-8") if path.exists() else ""
    finding = readme.place("finding").search(readme_text)
    runs = len([*(study_folder() / "data" / "runs" / profile).glob("*.json")])
    values = {"finding": finding[0] if finding else "", "profile": profile}
    values["claims"] = readme.claims_table(judged(profile).drop_duplicates("section"))
    return text(filled("front_page.md", **values, runs=f"{runs:,}"))
