"""A digest of a method's code, and the runs that were made with another one.

It covers `mocose_lib`, `fast/`, and what the system's own file imports of `systems/` and
`rewriting/`, directly or not, with the TOML tables that lie beside those files. Comments,
docstrings and layout do not count, since it is taken from the syntax tree. The tree becomes text
here: what `ast.dump` writes differs between versions of Python, and so does what `ast.unparse`
makes of f-strings.
"""

import ast
import hashlib
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import mocose_lib
import mocose_study
from mocose_study.config import Config
from mocose_study.systems import METHODS, TRAINED

from .files import read_whole, run_file

LIBRARY, STUDY = (Path(package.__file__).parent for package in (mocose_lib, mocose_study))
FOLLOWED = ("systems", "rewriting")


@cache
def method_code(method: str) -> str:
    """Twelve digits that change with the code of a system."""
    module = TRAINED.get(method, METHODS[method]).__module__
    own = STUDY.parent.joinpath(*module.split(".")).with_suffix(".py")
    whole = [*LIBRARY.rglob("*.py"), *(STUDY / "fast").rglob("*.py")]
    sources = {*whole, *followed(own)}
    texts = [text_of(ast.parse(path.read_bytes())) for path in sorted(sources)]
    folders = {path.parent for path in sources}
    tables = sorted(table for folder in folders for table in folder.glob("*.toml"))
    texts += [repr(tomllib.loads(table.read_text(encoding="utf-8"))) for table in tables]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:12]


def followed(path: Path) -> set[Path]:
    """The file, and those of FOLLOWED that it imports, directly or not."""
    found, waiting = set(), {path}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= set(_imports(path)) - found
    return found


def _imports(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            start = path.parents[node.level - 1] if node.level else STUDY.parent
            module = start.joinpath(*(node.module or "").split("."))
            for place in (module, *(module / alias.name for alias in node.names)):
                file = place.with_suffix(".py")
                if file.parent.name in FOLLOWED and file.is_file():
                    yield file


def text_of(node) -> str:
    """A syntax tree as text, without docstrings, places in the file, and fields that are empty."""
    if isinstance(node, list):
        return f"[{' '.join(map(text_of, node))}]"
    if not isinstance(node, ast.AST):
        return ascii(node)
    fields = dict(ast.iter_fields(node))
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    if documented and ast.get_docstring(node) is not None:
        fields["body"] = node.body[1:]
    shown = (f"{name}={text_of(v)}" for name, v in fields.items() if v not in (None, []))
    return f"{type(node).__name__}({' '.join(shown)})"


def outdated(configs: Iterable[Config], profile: str) -> dict[str, str]:
    """The finished runs that other code of their method has made: by id, that code and today's.

    Runs from before the digest was noted have the code "unknown".
    """
    found = {}
    for record in filter(None, (read_whole(run_file(c, profile)) for c in configs)):
        then = record["stamp"].get("method_code", "unknown")
        now = method_code(record["config"]["method"])
        if then != now:
            found[record["id"]] = f"method code {then}, now {now}"
    return found
