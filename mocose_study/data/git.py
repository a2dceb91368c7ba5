"""What git knows: the commit of the code, and a file's former texts."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from mocose_study.config import InputError

from .files import CHECKOUT

TIME = "%Y-%m-%dT%H:%M:%SZ"
CODE = ("mocose_lib", "mocose_study")


def git(folder: Path, *arguments: str) -> str:
    """What git prints. Raises InputError where there is no git, or no repository."""
    command = ("git", "-C", str(folder), *arguments)
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        why = f"git has no history of {folder}; use a clone of the repository."
        raise InputError(why) from None
    return done.stdout


@cache
def code_at(checkout: Path = CHECKOUT) -> dict:
    """The commit, and whether the code is "dirty": changed since; else the version.

    It is asked once a process, since a process keeps the code that it has imported.
    """
    command = ("status", "--porcelain=v2", "--branch", "--", *CODE)
    if (checkout / ".git").exists():  # a package may lie inside another repository
        with suppress(InputError):
            lines = git(checkout, *command).splitlines()
            changed = any(not line.startswith("#") for line in lines)
            return {"commit": lines[0].removeprefix("# branch.oid "), "dirty": changed}
    return {"version": version("mocose-lib")}


def versions(path: Path) -> Iterator[tuple[str, str]]:
    """When each commit changed a file (UTC), and its text then; the newest first.

    Raises InputError where git does not have the whole history of the file.
    """
    if git(path.parent, "rev-parse", "--is-shallow-repository").strip() == "true":
        raise InputError("this clone is shallow; `git fetch --unshallow` mends that.")
    log = git(path.parent, "log", "--format=%H %ct", "--", path.name)
    for commit, second in map(str.split, log.splitlines()):
        text = git(path.parent, "show", f"{commit}:./{path.name}")
        yield time.strftime(TIME, time.gmtime(int(second))), text
