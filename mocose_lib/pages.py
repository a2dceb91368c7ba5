"""One notebook as a page: equations in MathML, images with size and text, tables that scroll."""

import base64
import re
from collections.abc import Iterable
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from xml.etree import ElementTree

from bs4 import BeautifulSoup, Tag
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from PIL import Image
from traitlets.config import Config as Settings

from .claims import DECIDED
from .config import StudyError
from .equations import mathml

TEMPLATES = Path(__file__).parent / "templates"
SHOWN = (  # of several forms of an output the first
    "application/vnd.jupyter.widget-view+json", "image/svg+xml", "image/png", "text/html",
    "text/markdown", "text/latex", "text/plain",
)  # fmt: skip
PIXELS = {"": 1, "px": 1, "pt": 4 / 3, "in": 96}  # of CSS


class _Markdown(IPythonRenderer):
    def block_math(self, body: str) -> str:
        return f'<span class="wide">{mathml(body, "block")}</span>'

    def inline_math(self, body: str) -> str:
        return mathml(body, "inline")

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")


class PageExporter(HTMLExporter):
    """nbconvert with this package's templates; what it makes goes through `finish`."""

    def __init__(self):
        settings = Settings()
        settings.NbConvertBase.display_data_priority = list(SHOWN)
        super().__init__(
            config=settings, template_name="report", extra_template_basedirs=[str(TEMPLATES)]
        )

    @pass_context
    def markdown2html(self, context, source: str) -> str:
        attachments = context.get("cell", {}).get("attachments", {})
        return MarkdownWithMath(_Markdown(escape=False, attachments=attachments)).render(source)

    def page(self, notebook: NotebookNode, about: dict) -> str:
        """A notebook inside the site's frame; `about`: what the frame shows."""
        return self.from_notebook_node(notebook, {"page": about})[0]

    def home(self, about: dict, **parts) -> str:
        """The overview; `parts`: what home.html.j2 shows beside the frame."""
        template = self.environment.get_template("home.html.j2")
        return template.render(resources={"page": about}, **parts)


def finish(html: str, stems: Iterable[str], figures: Iterable[str]) -> str:
    """A page with what browsers and readers need beyond nbconvert's HTML.

    Names of other pages (`stems`) become links, images get alternative text and size, tables a box
    to scroll in. `figures`: names of the files that the site has in figures/. Raises StudyError
    for an image that is not embedded, since a page loads nothing from elsewhere.
    """
    soup = BeautifulSoup(html, "html.parser")
    for needless in soup.main.select("script, style, link"):
        needless.decompose()
    for image in soup.main.select("img"):
        _describe(image, set(figures))
    for table in soup.main.select("table"):
        _arrange(table)
    _link(soup.main, set(stems))
    return str(soup)


def saved_stem(code: str) -> str:
    """The name under which a cell's `plots.save(...)` keeps its figure; "" without one."""
    found = re.search(r'\bsave\(.*?\bprofile,\s*"(\w+)"\s*\)', code, re.S)
    return found[1] if found else ""


def _describe(image: Tag, figures: set[str]) -> None:
    """Size, alternative text from the heading above and the figure's name, links to its files."""
    width, height = image_size(image["src"])
    image["width"], image["height"] = str(width), str(height)
    figure, code = image.find_parent("figure"), image.find_previous("details", "code")
    stem = saved_stem(code.get_text()) if figure and code else ""
    heading = image.find_previous(["h1", "h2", "h3", "h4"])
    heading = heading.get_text().removesuffix("¶").strip() if heading else "Image"
    image["alt"] = image.get("alt") or (f"{heading}: figure {stem}" if stem else heading)
    files = [(f"{stem}.svg", "vector graphic"), (f"{stem}.csv", "numbers as CSV")]
    links = [f'<a href="figures/{name}">{text}</a>' for name, text in files if name in figures]
    if links:
        caption = f"<figcaption>Figure {stem}: {', '.join(links)}</figcaption>"
        figure.append(BeautifulSoup(caption, "html.parser"))
    if f"{stem}.svg" in figures:
        image.wrap(Tag(name="a", attrs={"href": f"figures/{stem}.svg"}))


def image_size(source: str) -> tuple[int, int]:
    """Width and height in CSS pixels of a data: URI. Raises StudyError for any other source."""
    if not source.startswith("data:image/"):
        raise StudyError(f"the image {source[:80]!r} is not embedded; attach it to its cell.")
    kind, _, content = source.partition(";base64,")
    content = base64.b64decode(content)
    if "svg" not in kind:
        return Image.open(BytesIO(content)).size
    root = ElementTree.fromstring(content)
    sizes = [re.fullmatch(r"([\d.]+)([a-z]*)", root.get(name, "")) for name in ("width", "height")]
    if not all(size and size[2] in PIXELS for size in sizes):
        raise StudyError("an SVG image states no width and height in px, pt or in.")
    width, height = (round(float(size[1]) * PIXELS[size[2]]) for size in sizes)
    return width, height


def _arrange(table: Tag) -> None:
    """Words left, numbers right, room for sentences, verdicts marked, and a box to scroll in."""
    for tag in (table, *table.select("tr")):
        del tag["border"], tag["style"]
    _join_index_name(table)
    # from the right, since the cells that a row lacks under a merged one are its first
    rows = (row.find_all(["th", "td"])[::-1] for row in table.select("tr"))
    for column in zip_longest(*rows):
        cells = [cell for cell in column if cell]
        texts = [cell.get_text().strip() for cell in cells if not cell.find_parent("thead")]
        words = any(re.search(r"[^\W\d_]{2}", text) for text in texts if text != "NaN")
        longest, one_word = max(map(len, texts), default=0), " " not in "".join(texts)
        kinds = {"text": words, "name": one_word, "long": longest > 40, "longer": longest > 120}
        for cell in cells:
            cell["class"] = [kind for kind, fits in kinds.items() if fits]
            if (text := cell.get_text().strip()) in ("NaN", "None"):
                cell.string = "–"
            elif text in (*DECIDED, "inconclusive", "no runs"):
                cell["class"] = [*cell["class"], "verdict", text.replace(" ", "-")]
    box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": "Table"}
    table.wrap(Tag(name="div", attrs=box))


def _join_index_name(table: Tag) -> None:
    """One header row where pandas makes two: the second has nothing but the index's name."""
    rows = [row.find_all("th") for row in table.select("thead tr")]
    if len(rows) == 2 and not rows[0][0].get_text() and not any(x.get_text() for x in rows[1][1:]):
        rows[0][0].string = rows[1][0].get_text()
        rows[1][0].parent.decompose()


def _link(main: Tag, stems: set[str]) -> None:
    """Links to notebooks lead to their pages, and names of notebooks become such links."""
    for link in main.select('a[href$=".ipynb"]'):
        stem = link["href"].rpartition("/")[2].removesuffix(".ipynb")
        link["href"] = f"{stem}.html"
        if stem not in stems:
            link.unwrap()
    for name in main.select("code, td"):
        if name.string in stems and not name.find("a") and not name.find_parent(["a", "pre"]):
            name.string.wrap(Tag(name="a", attrs={"href": f"{name.string}.html"}))
